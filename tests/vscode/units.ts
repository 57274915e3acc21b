// What needs no editor: the blocks of a change, and text made fit to be shown.
import assert from 'node:assert/strict';

import { compose, diffBlocks, linesOf } from 'source/blocks';
import { escaped, fenced, harmless, visible } from 'source/text';

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
const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word} ${at}\n`);
assert.equal(diffBlocks(lines(3_000, 'old'), lines(3_000, 'new')).length, 1, 'too many changes are one block');

// No image is loaded, however it is written; code stays as it is.
const remote = ['![x](https://e.org/a.png)', '![a[b]c](https://e.org/a.png)', '> ![x](//e.org/a.png)', '![x]\n(https://e.org)\n![y](z)'];
for (const text of remote) assert.ok(!harmless(text).includes('![x](') && !/!\[[^\n]*\]\(/.test(harmless(text)), text);
assert.equal(harmless('[a]: https://e.org/a.png\n\n![a]'), '\\[a]: https://e.org/a.png\n\n![a]');
const hidden = '<!--\n```\n-->\n\n![x](https://e.org/a.png)\n```\n';
assert.match(harmless(hidden), /^\\<!--/, 'a comment hides no fence');
assert.match(harmless('- a\n  ```\n![x](https://e.org/a.png)'), /!\u2060\[x\]/, 'a fence in a list is none of ours');
const code = 'Use it:\n\n```rust\n#![allow(x)]\nlet [a](b) = vec![1](2);\n<a>\n```\nand `vec![1]`';
assert.equal(harmless(code), code);
assert.equal(harmless('~~~\n![x](y)\n~~~ \n![x](y)'), '~~~\n![x](y)\n~~~ \n!\u2060[x](y)');

assert.equal(visible('a\u202eb\u001b[31m\r\n\tc'), 'a\\u{202e}b\\u{1b}[31m\n\tc');
assert.equal(escaped('rm *.md\n[x](command:y)'), 'rm \\*\\.md \\[x\\]\\(command:y\\)');
assert.equal(fenced('a\n```\nb'), '````\na\n```\nb\n````');
