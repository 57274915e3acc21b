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

/** A document after an edit. */
export interface Lines {
  readonly lineCount: number;
  lineAt(line: number): { readonly text: string };
}

/** Spans that are kept until an undo brings their text back, the newest. */
const MOST_LOST = 20;

/** A span that stays with its text. */
export class Track {
  /** What the last line of it says. */
  private text?: string;
  /** The spans of which an edit took text, each with where that was, and with what their last line said. */
  private readonly lost: { at: Position; span: Span; text: string | undefined }[] = [];

  constructor(
    public span: Span,
    document?: Lines,
  ) {
    if (document) this.text = textOf(document, span);
  }

  /** Takes edits in, each of which is of the text that the one before left. */
  edited(edits: readonly Edit[], isUndo: boolean, document: Lines): void {
    const before = this.span;
    const back = isUndo ? this.lost.at(-1) : undefined;
    const meets = back && edits.some(({ range }) => !compare(range.start, back.at));
    if (meets && textOf(document, back.span) === back.text) {
      this.lost.pop();
      this.span = back.span;
    } else {
      this.span = tracked(before, edits);
      const taken = edits.find((it) => takes(it, before));
      if (taken) this.lost.push({ at: taken.range.start, span: before, text: this.text });
      if (this.lost.length > MOST_LOST) this.lost.shift();
      if (taken && !isUndo) this.find(taken, document);
    }
    this.text = textOf(document, this.span);
  }

  /** Goes to the same line in what came for it, the nearest one: a program that changes a file gives much of it anew. */
  private find({ range, text }: Edit, document: Lines): void {
    const { start, end } = this.span;
    const last = Math.min(range.start.line + linesOf(text).length, document.lineCount) - 1;
    let found: number | undefined;
    for (let line = range.start.line; line <= last; line++) {
      const isNearer = found === undefined || Math.abs(line - end.line) < Math.abs(found - end.line);
      if (isNearer && this.text?.trim() && document.lineAt(line).text === this.text) found = line;
    }
    const by = (found ?? end.line) - end.line;
    const moved = ({ line, character }: Position) => ({ line: Math.max(0, line + by), character });
    this.span = { start: moved(start), end: moved(end) };
  }
}

/** What the last line of a span says. */
const textOf = (document: Lines, { end: { line } }: Span): string | undefined =>
  line < document.lineCount ? document.lineAt(line).text : undefined;

/** Whether an edit takes text of a span, or the line that an empty one stands on. */
const takes = ({ range: { start, end } }: Edit, span: Span): boolean =>
  compare(start, end) < 0 &&
  compare(start, span.end) <= (compare(span.start, span.end) ? -1 : 0) &&
  compare(end, span.start) > 0;

/**
 * Where a span is after edits. What is written at its start comes before it at the beginning of a line, as a line above
 * it does; what is written at its end comes after it.
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
  const lines = linesOf(text);
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

const linesOf = (text: string): string[] => text.split(/\r\n|\r|\n/);

/** Negative if one position is before the other, zero if they are the same. */
const compare = (one: Position, other: Position): number =>
  one.line - other.line || one.character - other.character;
