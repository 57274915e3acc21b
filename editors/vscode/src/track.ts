// Places in a document that stay with their text while it is edited.

/** Lines and UTF-16 units from zero, as those of VS Code. */
export interface Position {
  readonly line: number;
  readonly character: number;
}
export interface Span {
  readonly start: Position;
  readonly end: Position;
}
export interface Edit {
  readonly range: Span;
  readonly text: string;
}

/**
 * Where a span is after edits, each of which is of the text that the one before left. What is written at its start
 * comes before it at the beginning of a line, as a line above it does; what is written at its end comes after it.
 */
export const tracked = (span: Span, edits: readonly Edit[]): Span =>
  edits.reduce(({ start, end }, edit) => {
    const from = after(start, edit, start.character === 0);
    return { start: from, end: compare(start, end) ? after(end, edit, false) : from };
  }, span);

/** Where a position is after an edit; `yields` if an insertion there comes before it. One in a text that went stays in what came for it. */
function after(at: Position, { range: { start, end }, text }: Edit, yields: boolean): Position {
  const inserts = yields && !compare(start, end);
  if (compare(at, start) < 0 || (!compare(at, start) && !inserts)) return at;
  const lines = text.split(/\r\n|\r|\n/);
  const width = (row: number) => lines[row]!.length + (row ? 0 : start.character);
  const row = lines.length - 1;
  const last = { line: start.line + row, character: width(row) };
  if (compare(at, end) < 0)
    return at.line > last.line
      ? last
      : { line: at.line, character: Math.min(at.character, width(at.line - start.line)) };
  return at.line === end.line
    ? { line: last.line, character: last.character + at.character - end.character }
    : { line: at.line + last.line - end.line, character: at.character };
}

/** Negative if one position is before the other, zero if they are the same. */
const compare = (one: Position, other: Position): number =>
  one.line - other.line || one.character - other.character;
