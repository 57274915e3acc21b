// The blocks in which two texts differ, by lines.

export interface Block {
  /** The first line in the text before, and the lines there. */
  at: number;
  old: string[];
  new: string[];
}

/** Differences beyond this are one block: the search takes time with their square. */
const MOST_CHANGES = 500;

/** Lines with their ends, so that joining them gives the text again. */
export const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** The blocks, from the shortest list of changes (Myers' greedy search). */
export function diffBlocks(before: string[], after: string[]): Block[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const a = before.slice(start, before.length - end);
  const b = after.slice(start, after.length - end);
  const trace = search(a, b);
  if (!trace) return [{ at: start, old: a, new: b }];

  const blocks: Block[] = [];
  let [x, y] = [a.length, b.length];
  let block: Block | undefined;
  for (let d = trace.length - 1; d > 0; d--) {
    const far = trace[d - 1]!;
    const k = x - y;
    const down = k === -d || (k !== d && (far.get(k - 1) ?? -1) < (far.get(k + 1) ?? -1));
    const fromX = far.get(down ? k + 1 : k - 1)!;
    const fromY = fromX - (down ? k + 1 : k - 1);
    const changeX = down ? fromX : fromX + 1;
    if (block && (x > changeX || block.at !== start + changeX)) block = undefined;
    if (!block) blocks.unshift((block = { at: start + changeX, old: [], new: [] }));
    if (down) block.new.unshift(b[fromY]!);
    else block.old.unshift(a[fromX]!);
    block.at = start + fromX;
    [x, y] = [fromX, fromY];
  }
  return blocks;
}

/** The furthest x on each diagonal k, for each number of changes; nothing where there are too many. */
function search(a: string[], b: string[]): Map<number, number>[] | undefined {
  const trace: Map<number, number>[] = [];
  for (let d = 0; d <= Math.min(a.length + b.length, MOST_CHANGES); d++) {
    const last = trace.at(-1);
    const now = new Map<number, number>();
    trace.push(now);
    for (let k = -d; k <= d; k += 2) {
      let x = 0;
      if (last) x = k === -d || (k !== d && (last.get(k - 1) ?? -1) < (last.get(k + 1) ?? -1)) ? last.get(k + 1)! : last.get(k - 1)! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      now.set(k, x);
      if (x >= a.length && x - k >= b.length) return trace;
    }
  }
  return undefined;
}

/** The text before with only these blocks changed, and the line at which each block is in it. */
export function compose(before: string[], blocks: Block[], taken: (block: Block) => boolean): { text: string; at: number[] } {
  const lines: string[] = [];
  const at: number[] = [];
  let from = 0;
  for (const block of blocks) {
    lines.push(...before.slice(from, block.at));
    at.push(lines.length);
    lines.push(...(taken(block) ? block.new : block.old));
    from = block.at + block.old.length;
  }
  lines.push(...before.slice(from));
  return { text: lines.join(''), at };
}
