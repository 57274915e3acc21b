// The blocks in which two texts differ, by lines.

export interface Block {
  /** The first line in the text before, and the lines there. */
  at: number;
  old: string[];
  new: string[];
}

/** All that differs is one block where the table of the search would have more cells than this. */
const MOST_CELLS = 4_000_000;

/** Lines with their ends, so that joining them gives the text again. */
export const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** The blocks between which the most lines stay as they are. */
export function diffBlocks(before: string[], after: string[]): Block[] {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start++;
  let end = 0;
  while (
    end < Math.min(before.length, after.length) - start &&
    before.at(-1 - end) === after.at(-1 - end)
  )
    end++;
  const a = before.slice(start, before.length - end);
  const b = after.slice(start, after.length - end);
  if (a.length * b.length > MOST_CELLS) return [{ at: start, old: a, new: b }];

  // Number of lines that stay after line x of one text and line y of the other.
  const stay = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let x = a.length - 1; x >= 0; x--) {
    for (let y = b.length - 1; y >= 0; y--) {
      stay[x]![y] =
        a[x] === b[y] ? stay[x + 1]![y + 1]! + 1 : Math.max(stay[x + 1]![y]!, stay[x]![y + 1]!);
    }
  }
  const blocks: Block[] = [];
  let block: Block | undefined;
  for (let x = 0, y = 0; x < a.length || y < b.length;) {
    if (x < a.length && a[x] === b[y]) {
      block = undefined;
      x++;
      y++;
      continue;
    }
    if (!block) blocks.push((block = { at: start + x, old: [], new: [] }));
    if (y === b.length || (x < a.length && stay[x + 1]![y]! >= stay[x]![y + 1]!))
      block.old.push(a[x++]!);
    else block.new.push(b[y++]!);
  }
  return blocks;
}

/** Whether two changes of a text touch the same lines, or add lines at the same place. */
export function collide(one: Block, other: Block): boolean {
  const [end, otherEnd] = [one.at + one.old.length, other.at + other.old.length];
  if (!one.old.length && !other.old.length) return one.at === other.at;
  return one.at < otherEnd && other.at < end;
}

/** The same blocks in a text that is another one by now; none where the same lines were changed. */
export function moved(before: string[], now: string[], blocks: Block[]): Block[] | undefined {
  const since = diffBlocks(before, now);
  if (blocks.some((block) => since.some((other) => collide(block, other)))) return undefined;
  return blocks.map((block) => {
    const above = since.filter((it) => it.at + it.old.length <= block.at);
    const step = above.reduce((sum, it) => sum + it.new.length - it.old.length, 0);
    return { ...block, at: block.at + step };
  });
}

/** The text before with only these blocks changed, and the line at which each block is in it. */
export function compose(
  before: string[],
  blocks: Block[],
  taken: (block: Block) => boolean,
): { text: string; at: number[] } {
  let lines: string[] = [];
  let from = 0;
  const at = blocks.map((block) => {
    const kept = lines.concat(before.slice(from, block.at));
    lines = kept.concat(taken(block) ? block.new : block.old);
    from = block.at + block.old.length;
    return kept.length;
  });
  return { text: lines.concat(before.slice(from)).join(''), at };
}
