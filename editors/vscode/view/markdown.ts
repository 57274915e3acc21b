// Markdown as elements of the page, made one by one: no text is ever read as HTML, and nothing is loaded.
import MarkdownIt from 'markdown-it';

type Token = ReturnType<MarkdownIt['parse']>[number];

/** Kinds of elements that markdown may make. */
const TAGS = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol li blockquote table thead tbody tr th td em strong s hr br code'.split(
    ' ',
  ),
);
const parser = new MarkdownIt({ html: false }).disable('image');

export interface Block {
  source: string;
  elements: HTMLElement[];
}

/** Makes the blocks of a text into elements; of those that `parent` has, the ones that are the same stay. */
export function drawMarkdown(
  parent: HTMLElement,
  text: string,
  shown: Block[],
  codeBlock: (code: string, language: string) => HTMLElement,
): Block[] {
  const lines = text.split('\n');
  const env: { references?: object } = {};
  const groups = topLevel(parser.parse(text, env));
  // A link may be defined below the block that has it.
  const defined = Object.keys(env.references ?? {}).join();
  const sources = groups.map((group) => {
    const map = group[0]?.map ?? [0, 0];
    return `${defined}\n${lines.slice(map[0], map[1]).join('\n')}`;
  });
  const same = sources.findIndex((source, at) => shown[at]?.source !== source);
  const kept = same < 0 ? Math.min(sources.length, shown.length) : same;
  for (const { elements } of shown.slice(kept)) for (const it of elements) it.remove();
  const made = groups.slice(kept).map((group, at): Block => {
    const holder = document.createElement('div');
    build(group, holder, codeBlock);
    const elements = [...holder.children] as HTMLElement[];
    parent.append(...elements);
    return { source: sources[kept + at]!, elements };
  });
  return [...shown.slice(0, kept), ...made];
}

/** The tokens of each block that is in no other one. */
function topLevel(tokens: Token[]): Token[][] {
  const groups: Token[][] = [];
  let depth = 0;
  for (const token of tokens) {
    if (depth === 0) groups.push([]);
    groups.at(-1)!.push(token);
    depth += token.nesting;
  }
  return groups;
}

function build(
  tokens: Token[],
  root: HTMLElement,
  codeBlock: (code: string, language: string) => HTMLElement,
): void {
  const open = [root];
  for (const token of tokens) {
    const parent = open.at(-1)!;
    if (token.nesting < 0) open.pop();
    else if (token.type === 'inline') build(token.children ?? [], parent, codeBlock);
    else if (token.type === 'fence' || token.type === 'code_block')
      parent.append(codeBlock(token.content, token.info.trim().split(/\s/)[0] ?? ''));
    else if (token.nesting > 0) open.push(token.hidden ? parent : opened(token, parent));
    else if (token.type === 'softbreak') parent.append('\n');
    else if (TAGS.has(token.tag)) {
      const leaf = document.createElement(token.tag);
      leaf.textContent = token.content;
      parent.append(leaf);
    } else parent.append(token.content);
  }
}

function opened(token: Token, parent: HTMLElement): HTMLElement {
  const isLink = token.tag === 'a';
  const element = document.createElement(isLink || !TAGS.has(token.tag) ? 'span' : token.tag);
  if (isLink) {
    // The page goes nowhere by itself: a click is sent to the extension, which opens what may be opened.
    element.className = 'link';
    element.role = 'link';
    element.tabIndex = -1;
    element.dataset.href = token.attrGet('href') ?? '';
    element.title = element.dataset.href;
  }
  const start = token.attrGet('start');
  if (start && token.tag === 'ol') element.setAttribute('start', start);
  parent.append(element);
  return element;
}
