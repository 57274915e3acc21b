// Text of models, tools and servers, made fit to be shown.

const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Plain text in which characters that cannot be seen, or that turn the others around, are spelled out. */
export const visible = (text: string): string =>
  text
    .replace(/\r\n/g, '\n')
    .replace(HIDDEN, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);

/** A line of the protocol's trace without what a person answered, which may be a secret, and without a key. */
export const traced = (message: string): string =>
  /^Sending (response 'aside\/prompt |request 'aside\/key\/)|"send-response"|"send-request".*"method":"aside\/key\//.test(
    message,
  )
    ? message.split(/\n|,"message":/)[0]!
    : message;

/** A number of things, in words. */
export const counted = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? '' : 's'}`;

/** Lines that a message box shows, and about how many columns each has. */
const BOX = { lines: 20, columns: 80 };

/** Whether a text is too long for a message box, which wraps lines. A wide character takes two columns. */
export function isLong(text: string): boolean {
  const rows = text
    .split('\n')
    .map((line) => Math.ceil(line.replace(/[^\u0000-\u02ff]/g, 'xx').length / BOX.columns) || 1);
  return rows.reduce((sum, it) => sum + it, 0) > BOX.lines;
}

/** The same text for a message box, which would leave out what indents its lines. */
export const boxed = (text: string): string =>
  text.replace(/^[ \t]+|[ \t]{2,}/gm, (gap) =>
    gap.replaceAll('\t', '    ').replaceAll(' ', '\u00a0'),
  );

/** One line of plain text, as markdown. */
export const escaped = (text: string): string =>
  visible(text)
    .replace(/\s+/g, ' ')
    .replace(/[\\`*_{}[\]()#+\-.!<>|~&]/g, '\\$&');

/** One line of text, in which what stands between backticks is code, as markdown. */
export const worded = (text: string): string =>
  text
    .split(/(`[^`\s](?:[^`]*[^`\s])?`)/)
    .map((it, at) => (at % 2 ? code(it.slice(1, -1)) : escaped(it)))
    .join('');

/** The title of a call as markdown. Its code goes to the last backtick, since a command may have some. */
export function titled(title: string): string {
  const [, before, within, after] = /^([^`]*)`([^]*)`([^`]*)$/.exec(title) ?? [];
  if (within === undefined) return escaped(title);
  return `${escaped(before!)}${code(within)}${escaped(after!)}`;
}

function code(text: string): string {
  const line = visible(text).replace(/\s+/g, ' ');
  const ticks = '`'.repeat(Math.max(0, ...(line.match(/`+/g) ?? []).map((it) => it.length)) + 1);
  return /^`|`$/.test(line) ? `${ticks} ${line} ${ticks}` : `${ticks}${line}${ticks}`;
}

/** A text of several lines as a block of code. Without a language it would get the colours of the document's language. */
export function fenced(text: string, language = 'text'): string {
  const ticks = text.match(/`{3,}/g) ?? [];
  const fence = '`'.repeat(Math.max(3, ...ticks.map((run) => run.length + 1)));
  return `${fence}${language}\n${visible(text)}\n${fence}`;
}

/** A block of code whose fence begins a line, and not the last one, which fences nothing; or lines between two empty ones. */
const BLOCK =
  /^(`{3,}(?=[^`\n]*\n)|~{3,}(?=.*\n)).*(?:\n(?! {0,3}\1[`~]*[ \t]*$).*)*(?:\n.*)?|(?:^(?!`{3,}[^`\n]*\n|~{3,}.*\n).*\S.*(?:\n|$))+/gm;

/**
 * A model's markdown in which no image is loaded; nothing else is taken away. Outside of fences, what could begin a block of HTML, a
 * definition of a link or a remote image is written so that it does not; only fences that begin a line count, so that no other
 * reading of the text finds more outside of them.
 */
export const harmless = (markdown: string): string =>
  markdown.replace(/\r\n?/g, '\n').replace(BLOCK, (block: string, fence?: string) => {
    if (fence) return block;
    const inert = block.replace(/^([\s>*+\-\d.)]*?)(<|\[[^\n]*\]:)/gm, '$1\\$2');
    return inert.includes('](') ? inert.replace(/!\[/g, '!\u2060[') : inert;
  });

/** A link of a model's markdown to a line of a file of the workspace, or what is code and has none. */
const PLACE = /(`+)[^]*?\1|\]\(([^\s()<>:#/][^\s()<>:#]*)(?::|#L)(\d+)[-:\dL]*\)/g;

/** A model's markdown with other addresses in its links to lines of files: VS Code takes `a.ts:12` for something with a scheme. */
export const located = (
  markdown: string,
  addressOf: (path: string, line: number) => string,
): string =>
  markdown.replace(BLOCK, (block: string, fence?: string) =>
    fence
      ? block
      : block.replace(PLACE, (whole: string, _ticks: string | undefined, path?: string, line?: string) =>
          path === undefined ? whole : `](${addressOf(path, Number(line))})`,
        ),
  );

/** The message of an error, for the user. */
export const sentence = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
