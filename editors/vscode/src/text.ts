// Text of models, tools and servers, made fit to be shown.

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Plain text in which characters that cannot be seen, or that turn the others around, are spelled out. */
export const visible = (text: string): string =>
  text.replace(/\r\n/g, '\n').replace(HIDDEN, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);

/** A line of the protocol's trace without what a person answered, which may be a secret. */
export const traced = (message: string): string =>
  /^Sending response 'aside\/prompt |"send-response"/.test(message) ? message.split(/\n|,"message":/)[0]! : message;

/** A number of things, in words. */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** Whether a text is too long for a message box. */
export const isLong = (text: string): boolean => text.length > 1500 || text.split('\n').length > 20;

/** One line of plain text, as markdown. */
export const escaped = (text: string): string =>
  visible(text).replace(/\s+/g, ' ').replace(/[\\`*_{}[\]()#+\-.!<>|~&]/g, '\\$&');

/** A text of several lines, as markdown that shows it as it is; without a language it would get the colours of the document's. */
export function fenced(text: string, language = 'text'): string {
  const ticks = text.match(/`{3,}/g) ?? [];
  const fence = '`'.repeat(Math.max(3, ...ticks.map((run) => run.length + 1)));
  return `${fence}${language}\n${visible(text)}\n${fence}`;
}

/**
 * A model's markdown in which no image is loaded; nothing else is taken away. Outside of fences, what could begin a block of HTML, a
 * definition of a link or a remote image is written so that it does not; only fences that begin a line count, so that no other
 * reading of the text finds more outside of them.
 */
export function harmless(markdown: string): string {
  let fence: RegExp | undefined;
  let paragraphHasTarget = false;
  const lines = markdown.replace(/\r\n?/g, '\n').split('\n');
  // From the end, since an image's target follows it.
  const targets = new Array<boolean>(lines.length);
  for (let at = lines.length - 1; at >= 0; at--) {
    paragraphHasTarget = lines[at]!.trim() !== '' && (paragraphHasTarget || lines[at]!.includes(']('));
    targets[at] = paragraphHasTarget;
  }
  return lines
    .map((line, at) => {
      if (fence) {
        if (fence.test(line)) fence = undefined;
        return line;
      }
      const [, run] = /^(`{3,}(?=[^`]*$)|~{3,})/.exec(line) ?? [];
      if (run) {
        fence = new RegExp(`^ {0,3}${run[0]}{${run.length},}[ \\t]*$`);
        return line;
      }
      const inert = line.replace(/^([\s>*+\-\d.)]*)(<|\[[^\n]*\]:)/, '$1\\$2');
      return targets[at] ? inert.replace(/!\[/g, '!\u2060[') : inert;
    })
    .join('\n');
}
