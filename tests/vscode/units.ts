// What needs no editor: the blocks of a change, text made fit to be shown, and the trace of the protocol.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';

import { compose, diffBlocks, linesOf, moved } from 'source/blocks';
import { keptWith, toHand } from 'source/entered';
import { boxed, escaped, fenced, harmless, isLong, located, titled, traced, visible, worded } from 'source/text';
import { Track, tracked, type Position } from 'source/track';
import { TurnText } from 'source/turnText';
import { createMessageConnection, StreamMessageReader, StreamMessageWriter, Trace, TraceFormat } from 'vscode-jsonrpc/node';

// Any two texts: all blocks make the new one, none the old one, and between two blocks a line stays.
let seed = 1;
const below = (bound: number) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % bound;
for (let round = 0; round < 5_000; round++) {
  const text = () => Array.from({ length: below(9) }, () => `${'abc'[below(3)]}${below(9) ? '\n' : ''}`).join('');
  const [before, after] = [linesOf(text()), linesOf(text())];
  const blocks = diffBlocks(before, after);
  assert.equal(compose(before, blocks, () => true).text, after.join(''));
  assert.equal(compose(before, blocks, () => false).text, before.join(''));
  blocks.slice(1).forEach((block, at) => assert.ok(blocks[at].at + blocks[at].old.length < block.at));
}
// A change goes to where its lines are by now, in whatever order both are made; the same lines are nobody's to move.
for (let round = 0; round < 5_000; round++) {
  const before = Array.from({ length: 12 }, (_, at) => `${at}\n`);
  const [mine, theirs] = ['mine', 'theirs'].map((word) => before.flatMap((line) => [[line], [line], [line], [], [`${word}\n`], [line, `${word}\n`]][below(6)]));
  const blocks = diffBlocks(before, mine);
  const there = moved(before, theirs, blocks);
  const back = moved(before, mine, diffBlocks(before, theirs));
  assert.equal(there === undefined, back === undefined);
  if (there && back) assert.equal(compose(theirs, there, () => true).text, compose(mine, back, () => true).text);
}
const list = linesOf('a\nb\nc\nd\n');
assert.deepEqual(moved(list, linesOf('new\na\nb\nc\nd\n'), diffBlocks(list, linesOf('a\nb\nC\nd\n'))), [{ at: 3, old: ['c\n'], new: ['C\n'] }]);
assert.equal(moved(list, linesOf('a\nb\nc!\nd\n'), diffBlocks(list, linesOf('a\nb\nC\nd\n'))), undefined);
const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word} ${at}\n`);
assert.equal(diffBlocks(lines(3_000, 'old'), lines(3_000, 'new')).length, 1, 'too many changes are one block');

// A span has the same text after edits that do not touch it, and where text of it went or came, it ends in order.
for (let round = 0; round < 20_000; round++) {
  const any = () => Array.from({ length: below(12) }, () => 'ab\n'[below(3)]).join('');
  const some = (bound: number): [number, number] => [below(bound + 1), below(bound + 1)].sort((a, b) => a - b) as [number, number];
  const position = (text: string, at: number) => {
    const rows = text.slice(0, at).split('\n');
    return { line: rows.length - 1, character: rows.at(-1)!.length };
  };
  const spanOf = (text: string, [start, end]: [number, number]) => ({ start: position(text, start), end: position(text, end) });
  const offset = (text: string, { line, character }: Position) => {
    const rows = text.split('\n');
    assert.ok(line < rows.length && character <= rows[line]!.length, 'it is in the text');
    return rows.slice(0, line).reduce((sum, it) => sum + it.length + 1, character);
  };
  const before = any();
  const chosen = some(before.length);
  const edit = (text: string) => {
    const [from, to] = some(text.length);
    const put = any();
    return { from, to, put, text: text.slice(0, from) + put + text.slice(to), edit: { range: spanOf(text, [from, to]), text: put } };
  };
  const one = edit(before);
  const two = edit(one.text);
  const span = spanOf(before, chosen);
  const once = tracked(span, [one.edit]);
  assert.deepEqual(tracked(span, [one.edit, two.edit]), tracked(once, [two.edit]));
  const now = [offset(one.text, once.start), offset(one.text, once.end)];
  assert.ok(now[0] <= now[1], 'it ends in order');
  if (one.to < chosen[0] || one.from > chosen[1]) assert.equal(one.text.slice(...now), before.slice(...chosen));
}
// What is written at its edges, and what takes its place: span, edit, span; each `line:character-line:character`.
for (const [span, range, text, after] of [
  ['2:0-3:0', '2:0-2:0', 'new\n', '3:0-4:0'],
  ['2:0-3:0', '3:0-3:0', 'new\n', '2:0-3:0'],
  ['2:0-2:0', '2:0-2:0', 'new\r\n', '3:0-3:0'],
  ['2:4-2:4', '2:4-2:4', '\nnext', '2:4-2:4'],
  ['2:4-2:9', '2:4-2:4', 'more', '2:4-2:13'],
  ['2:4-2:9', '1:0-2:4', '', '1:0-1:5'],
  ['2:4-2:9', '1:3-2:6', 'one\r\ntwo', '2:3-2:6'],
  ['5:0-7:0', '0:0-9:0', 'all\n', '1:0-1:0'],
  ['5:0-7:0', '0:0-9:0', 'a\nb\nc\nd\ne\nf\ng\nh\n', '5:0-7:0'],
]) {
  const spanOf = (words: string) => {
    const [start, end] = words.split('-').map((it) => it.split(':').map(Number)).map(([line, character]) => ({ line, character }));
    return { start, end };
  };
  assert.deepEqual(tracked(spanOf(span), [{ range: spanOf(range), text }]), spanOf(after), `${span} after ${range}`);
}

// A span is back where an undo brings its text back, and goes to its line in what a program put in the place of many.
{
  const lines = (text: string) => ({ lineCount: text.split('\n').length, lineAt: (at: number) => ({ text: text.split('\n')[at]! }) });
  const at = (line: number, character = 0) => ({ line, character });
  const of = (from: number, to: number) => ({ range: { start: at(from), end: at(to) } });
  const before = 'a\nb\nc\nd\ne\n';
  for (const [from, to, first, last] of [[2, 2, 2, 3], [1, 3, 1, 4], [1, 4, 0, 5]] as const) {
    const span = { start: at(from), end: at(to) };
    const track = new Track(span, lines(before));
    const rows = before.split('\n');
    const taken = rows.slice(first, last).join('\n') + '\n';
    for (let again = 0; again < 2; again++) {
      track.edited([{ ...of(first, last), text: '' }], again > 0, lines(rows.toSpliced(first, last - first).join('\n')));
      track.edited([{ ...of(first, first), text: taken }], true, lines(before));
      assert.deepEqual(track.span, span);
    }
    // Another text at its place is none of it.
    track.edited([{ ...of(first, last), text: '' }], false, lines(rows.toSpliced(first, last - first).join('\n')));
    track.edited([{ ...of(first, first), text: 'x\n' }], true, lines(rows.toSpliced(first, last - first, 'x').join('\n')));
    assert.notDeepEqual(track.span, span);
  }
  const track = new Track({ start: at(2), end: at(2) }, lines(before));
  const now = '1\n2\na\nb\nc\nd\nnew\n';
  track.edited([{ ...of(0, 5), text: now }], false, lines(now));
  assert.deepEqual(track.span, { start: at(4), end: at(4) });
}

// No image is loaded, however it is written; code stays as it is.
const remote = ['![x](https://e.org/a.png)', '![a[b]c](https://e.org/a.png)', '> ![x](//e.org/a.png)', '![x]\n(https://e.org)\n![y](z)', '![\n~~~x](https://e.org/a.png)'];
for (const text of remote) assert.ok(!harmless(text).includes('![x](') && !/!\[[^]*\]\(/.test(harmless(text)), text);
assert.equal(harmless('[a]: https://e.org/a.png\n\n![a]'), '\\[a]: https://e.org/a.png\n\n![a]');
const hidden = '<!--\n```\n-->\n\n![x](https://e.org/a.png)\n```\n';
assert.match(harmless(hidden), /^\\<!--/, 'a comment hides no fence');
assert.match(harmless('- a\n  ```\n![x](https://e.org/a.png)'), /!\u2060\[x\]/, 'a fence in a list is none of ours');
const code = 'Use it:\n\n```rust\n#![allow(x)]\nlet [a](b) = vec![1](2);\n<a>\n```\nand `vec![1]`';
assert.equal(harmless(code), code);
assert.equal(harmless('~~~\n![x](y)\n~~~ \n![x](y)'), '~~~\n![x](y)\n~~~ \n!\u2060[x](y)');

assert.equal(visible('a\u202eb\u001b[31m\r\n\tc'), 'a\\u{202e}b\\u{1b}[31m\n\tc');
assert.equal(escaped('rm *.md\n[x](command:y)'), 'rm \\*\\.md \\[x\\]\\(command:y\\)');
assert.equal(fenced('a\n```\nb'), '````text\na\n```\nb\n````');

// What a sentence has between backticks is code, and nothing of it is markdown.
assert.equal(worded('Run `aside mcp list` *again*, or `a_b`.'), 'Run `aside mcp list` \\*again\\*, or `a_b`\\.');
assert.equal(worded('a ` [x](command:y) ``'), 'a \\` \\[x\\]\\(command:y\\) \\`\\`');
assert.equal(worded('`a\u202eb`'), '`a\\u{202e}b`');
assert.equal(titled('Run `echo *.md`?'), 'Run `echo *.md`?');
assert.equal(titled('Run `echo `date` ``x```'), 'Run ``` echo `date` ``x`` ```');
assert.equal(titled('Edit a_b.md'), 'Edit a\\_b\\.md');

// A link to a line of a file is what VS Code can open; what is code, or of the web, is as it was.
const at = (text: string) => located(text, (path, line) => `${path}@${line}`);
assert.equal(at('[a](a.ts:12) [b](src/b.ts#L3-L9) [c](c.ts:1:4)'), '[a](a.ts@12) [b](src/b.ts@3) [c](c.ts@1)');
for (const text of ['[a](a.ts)', '`[a](a.ts:12)`', '```\n[a](a.ts:12)\n```', '[a](http://e.org:80)', '[a](/etc/a:1)', '[a](mailto:x)']) assert.equal(at(text), text);

// What fits into a message box, and how its lines keep their indent there.
assert.deepEqual(['a\n'.repeat(20), `${'x'.repeat(80)}\n`.repeat(19), `${'牛'.repeat(40)}\n`.repeat(19)].map(isLong), [true, false, false]);
assert.deepEqual([`${'x'.repeat(81)}\n`.repeat(10), `${'牛'.repeat(41)}\n`.repeat(10), 'x'.repeat(1_600), 'x'.repeat(1_601)].map(isLong), [true, true, false, true]);
assert.equal(boxed('if x; then\n\ty\n  z  w v\nfi'), 'if x; then\n\u00a0\u00a0\u00a0\u00a0y\n\u00a0\u00a0z\u00a0\u00a0w v\nfi');

// What is noted while a text is written stands below that text, and in no word of it.
const turn = new TurnText();
turn.apply({ kind: 'text', step: 1, text: 'I w' });
turn.apply({ kind: 'steered', text: 'Left' });
turn.apply({ kind: 'text', step: 1, text: 'alk.' });
assert.equal(turn.markdown(), 'I walk.\n\n> **You:** Left');
turn.apply({ kind: 'text', step: 2, text: 'I turn' });
turn.note('*It ended.*', false);
turn.apply({ kind: 'text', step: 2, text: 'I turn.' });
assert.equal(turn.markdown(), 'I walk.\n\n> **You:** Left\n\nI turn\n\n*It ended.*\n\nI turn.');

// A command shows the end of what it printed, while it runs and afterwards, and its sign tells that it failed.
const ran = new TurnText();
ran.apply({ kind: 'toolCall', step: 1, callId: 'c', name: 'run_command', title: 'Run tests', arguments: {}, status: 'running' });
for (let n = 1; n <= 12; n++) ran.apply({ kind: 'toolOutput', callId: 'c', text: `test ${n}\n` });
assert.match(ran.markdown(), /^- … Run tests\n\n```text\n… 4 lines more\ntest 5\n[^]*test 12\n```$/);
ran.apply({ kind: 'toolResult', callId: 'c', status: 'ok', summary: 'failed', exitStatus: 1 });
assert.match(ran.markdown(), /^- ✗ Run tests \(exit status 1\)\n\n```text\n… 4 lines more\n/);
ran.apply({ kind: 'edit', callId: 'e', changes: [{ uri: 'file:///a.py', diff: '--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n' }, { uri: 'file:///b', missing: 'It is no text.' }] });
ran.apply({ kind: 'toolResult', callId: 'e', status: 'ok', summary: '' });
assert.match(ran.markdown(), /- ✓ e\n\n```diff\n@@ -1 \+1 @@\n-a\n\+b\n+```/);
// All that a tool gave is shown, where it printed nothing on the way.
ran.apply({ kind: 'toolCall', step: 1, callId: 'w', name: 'weather', title: 'Ask', arguments: {}, status: 'running' });
ran.apply({ kind: 'toolResult', callId: 'w', status: 'ok', summary: 'rain', content: 'rain\nsun' });
assert.match(ran.markdown(), /- ✓ Ask\n\n```text\nrain\nsun\n```$/);
// Of what was refused it is told who did it, and the note that went with it.
ran.apply({ kind: 'toolCall', step: 1, callId: 'n', name: 'edit_file', title: 'Edit it', arguments: {}, status: 'waiting' });
ran.apply({ kind: 'question', promptId: 'p', callId: 'n', promptKind: 'runTool', label: 'Aside', text: 'Edit it?' });
ran.apply({ kind: 'question', promptId: 'p', outcome: 'answered', text: 'no: not now (you)' });
ran.apply({ kind: 'toolResult', callId: 'n', status: 'denied', summary: 'Not permitted. Do not retry.' });
assert.match(ran.markdown(), /- ⊘ Edit it · no: not now \\\(you\\\)$/);
// A short result stands behind the title, and a long line is an output; a resumed call keeps the title that it had.
ran.apply({ kind: 'toolCall', step: 1, callId: 's', name: 'weather', title: 'Ask it', arguments: {}, status: 'running' });
ran.apply({ kind: 'toolCall', step: 1, callId: 's', name: 'weather', title: 'weather', arguments: {}, status: 'waiting' });
ran.apply({ kind: 'toolResult', callId: 's', status: 'ok', summary: 'rain *today*' });
assert.match(ran.markdown(), /- ✓ Ask it · rain \\\*today\\\*$/);
ran.apply({ kind: 'toolResult', callId: 'l', status: 'ok', summary: 'x'.repeat(101) });
assert.match(ran.markdown(), /- ✓ l\n\n```text\nx{101}\n```$/);
ran.apply({ kind: 'retry', attempt: 1, afterMs: 1_200, reason: 'The server is busy' });
assert.match(ran.markdown(), /\*The server is busy\\?\. The request is sent again in 2 seconds\.\*$/);

// What of the context is used is what the server says, whatever all requests took; it stays known at the end of the turn.
const usage = { outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, contextWindow: 1_000 };
ran.apply({ kind: 'usage', ...usage, inputTokens: 250, contextTokens: 150 });
ran.apply({ kind: 'usage', ...usage, inputTokens: 900, contextTokens: 150 });
ran.apply({ kind: 'usage', ...usage, inputTokens: 950, contextWindow: 1_000 });
ran.complete({ conversationId: 'c', turnId: 't', outcome: 'completed', refusals: [], prompts: [], usage: { ...usage, inputTokens: 950 } });
assert.deepEqual(ran.context, { tokens: 150, window: 1_000 });
// Who meets a refusal for want of trust is told the way to it.
const refused = new TurnText();
const refusal = { tool: 'edit_file', arguments: {}, reason: 'not_trusted', text: 'edit_file was refused: the workspace is not trusted.' };
refused.complete({ conversationId: 'c', turnId: 't', outcome: 'completed', refusals: [refusal], prompts: [], usage: { ...usage, inputTokens: 0 } });
assert.match(refused.markdown(), /is not trusted\\\.\n\n\*To allow it, trust the workspace/);
ran.apply({ kind: 'usage', ...usage, inputTokens: 960, contextTokens: 0 });
assert.equal(ran.context?.tokens, 0);

// A secret is answered over a real connection, whose trace is as verbose as can be, in both of its formats.
// Keys of several windows: none that another one kept is lost, and one that it forgot leaves the server.
const kept = keptWith(undefined, 'openai', 'a');
assert.equal(keptWith(kept, 'google', 'b'), '{"openai":"a","google":"b"}');
assert.equal(keptWith(keptWith(kept, 'google', 'b'), 'openai'), '{"google":"b"}');
assert.deepEqual(toHand(['openai', 'google'], { google: 'b', mistral: 'c' }), [{ provider: 'openai' }, { provider: 'google', key: 'b' }, { provider: 'mistral', key: 'c' }]);
assert.deepEqual(toHand([], {}), []);

async function trace(traceFormat: TraceFormat): Promise<string> {
  const [there, back] = [new PassThrough(), new PassThrough()];
  const [server, editor] = [
    createMessageConnection(new StreamMessageReader(back), new StreamMessageWriter(there)),
    createMessageConnection(new StreamMessageReader(there), new StreamMessageWriter(back)),
  ];
  const lines: string[] = [];
  const log = (message: unknown, data?: string) => lines.push(traced(typeof message === 'string' ? `${message}\n${data}` : JSON.stringify(message)));
  editor.onRequest('aside/prompt', () => ({ action: 'answer', answer: 'hunter2' }));
  server.listen();
  editor.listen();
  await editor.trace(Trace.Verbose, { log }, { traceFormat });
  assert.deepEqual(await server.sendRequest('aside/prompt', { text: 'Your password?' }), { action: 'answer', answer: 'hunter2' });
  server.onRequest('aside/key/set', () => ({}));
  await editor.sendRequest('aside/key/set', { provider: 'openai', key: 'hunter2' });
  server.dispose();
  editor.dispose();
  return lines.join('\n');
}
void Promise.all([TraceFormat.Text, TraceFormat.JSON].map(trace)).then((all) => {
  for (const told of all) {
    assert.match(told, /aside\/prompt[^]*Your password\?[^]*send(ing|)[ -]response/i, told);
    assert.ok(!told.includes('hunter2'), told);
  }
});
