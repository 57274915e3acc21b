const { ask, aside, assert, body, ended, says, test, textOf, until, run, vscode } = require('../kit');

test('an answer is written into the thread as it comes, at most 20 times a second, and a reply goes on', async () => {
  const renders = [];
  const thread = await ask('Tell me about milk');
  await until('the end', () => {
    const text = textOf(thread);
    if (text !== renders.at(-1)?.text) renders.push({ text, at: Date.now() });
    return thread.label.startsWith('Aside: done');
  });
  assert.ok(renders.length >= 3, `${renders.length} renders`);
  const seconds = (renders.at(-1).at - renders[0].at) / 1000;
  assert.ok(renders.length <= 20 * seconds + 3, `${renders.length} renders in ${seconds} s`);
  assert.equal(thread.label, 'Aside: done · 10 tokens in, 5 out · $0.5000');
  assert.equal(aside().status, undefined);

  const answer = thread.comments.at(-1);
  assert.ok(answer.body instanceof vscode.MarkdownString && !answer.body.isTrusted && !answer.body.supportHtml);
  assert.match(body(answer), /#!\[allow\(clippy::all\)\]\nlet all = vec!\[milk\];/, 'code stays as it is');
  assert.ok(!/!\[remote\]/.test(body(answer)), 'no remote image');

  await run('aside.reply', { thread, text: 'And bread?' });
  await says(thread, 'Bread comes from wheat.');
  await ended(thread);
  assert.deepEqual(thread.comments.map((it) => it.author.name), ['You', 'Aside', 'You', 'Aside']);
});
