// What attack.mjs runs in its page: the page of the view and its renderer with generated texts, and what the policy has to stop.
import 'viewed/main';
import { drawMarkdown } from 'viewed/markdown';

const PIECES = [
  '<script>window.ran=1</script>', '<img src=x onerror=window.ran=1>', '<svg/onload=window.ran=1>', '<iframe src=//e.org></iframe>', '<a href="javascript:window.ran=1">x</a>',
  '[x](javascript:window.ran=1)', '[x](command:workbench.action.quit)', '![x](https://e.org/a.png)', '[x](https://e.org "t")', '[a]: https://e.org\n\n[a]', '<https://e.org>', '<javascript:x>',
  '[x](data:text/html,<script>window.ran=1</script>)', '[x](vbscript:x)', '[x](one.ts:3)', '![a][b]\n\n[b]: //e.org/a.png', '<style>*{display:none}</style>', '<!--', '-->', '<![CDATA[', '```', '~~~html', '`', '``',
  '\n', '\n\n', '    ', '- ', '1. ', '> ', '# ', '| a | b |\n|---|---|\n', '**', '*', '_', '~~', '\\', '&lt;script&gt;', '&#x3c;img src=x&#x3e;', '\u202e', '\u0000', 'word ', '<', '>', '"', "'", '](', ')', '[', '!',
];
const ATTRIBUTES = new Set(['class', 'role', 'tabindex', 'title', 'start', 'data-href']);
const TAGS = new Set('DIV P H1 H2 H3 H4 H5 H6 UL OL LI BLOCKQUOTE TABLE THEAD TBODY TR TH TD EM STRONG S HR BR CODE PRE SPAN'.split(' '));

let seed = 5;
const below = (bound: number) => ((seed = (seed * 1103515245 + 12345) % 2147483648) >>> 8) % bound;
const plain = document.body.appendChild(document.createElement('div'));
const generated = () => Array.from({ length: 1 + below(12) }, () => PIECES[below(PIECES.length)]).join('');
const codeBlock = (code: string) => {
  const element = document.createElement('pre');
  element.textContent = code;
  return element;
};

function attack(count: number) {
  const bad: string[] = [];
  let [links, elements] = [0, 0];
  for (let round = 0; round < count; round++) {
    const text = generated();
    const root = document.createElement('div');
    plain.replaceChildren(root);
    // Drawn as it grows, and whole: both are the same.
    const half = drawMarkdown(root, text.slice(0, below(text.length + 1)), [], codeBlock);
    drawMarkdown(root, text, half, codeBlock);
    const whole = document.createElement('div');
    drawMarkdown(whole, text, [], codeBlock);
    if (whole.textContent !== root.textContent) bad.push(`other text as it grows: ${text}`);
    for (const it of root.querySelectorAll('*')) {
      elements++;
      if (it.hasAttribute('data-href')) links++;
      const wrong = !TAGS.has(it.tagName) || it.namespaceURI !== 'http://www.w3.org/1999/xhtml' || [...it.attributes].some(({ name }) => !ATTRIBUTES.has(name));
      if (wrong && bad.length < 5) bad.push(`${it.outerHTML.slice(0, 200)} of ${text}`);
    }
    for (const it of root.querySelectorAll<HTMLElement>('[data-href]')) if (round % 50 === 0) it.click();
  }
  if ('ran' in window) bad.push('something ran');
  return { bad, links, elements };
}

/** Texts that are wide, deep or high, between those that try to be HTML. */
const LARGE = [
  'w'.repeat(400), '\u2588'.repeat(300), '\u200d\ufdfd'.repeat(60), `a${'\u0300'.repeat(200)}`, '> '.repeat(60), '- '.repeat(60), `${'#'.repeat(6)} ${'W'.repeat(200)}`, `| ${'c | '.repeat(80)}\n|${'---|'.repeat(80)}\n| ${'W | '.repeat(80)}\n`,
  `\`\`\`${'l'.repeat(300)}\n${'x'.repeat(900)}\n\`\`\`\n`, `\`${'y'.repeat(500)}\``, '\u202e\u2067'.repeat(40), '\t'.repeat(200), '\u00a0'.repeat(500), `[${'z'.repeat(300)}](${'one/'.repeat(90)}a.ts)`, '999999999999999999999. x', '\n\n\n',
];
const text = () => Array.from({ length: 1 + below(8) }, () => (below(3) ? PIECES[below(PIECES.length)] : LARGE[below(LARGE.length)])).join('');
const tell = (data: unknown) => window.dispatchEvent(new MessageEvent('message', { data }));

/** The part of an element that can be seen: what the boxes around it that cut or scroll leave of it. */
function seen(element: Element, end: Element): { left: number; right: number; top: number; bottom: number } {
  let { left, right, top, bottom } = element.getBoundingClientRect();
  for (let at = element.parentElement; at && at !== end; at = at.parentElement) {
    const { overflowX, contain } = getComputedStyle(at);
    if (overflowX === 'visible' && !contain.includes('paint')) continue;
    const box = at.getBoundingClientRect();
    [left, right, top, bottom] = [Math.max(left, box.left), Math.min(right, box.right), Math.max(top, box.top), Math.min(bottom, box.bottom)];
  }
  return { left, right, top, bottom };
}

/** Draws texts wherever the page has those of a model, and measures that each stays in the box of its turn or prompt. */
function boxes(count: number) {
  const bad: string[] = [];
  let elements = 0;
  const log = document.querySelector('.log')!;
  const call = () => ({ kind: 'call', callId: 'c', title: text(), status: ['ok', 'running', 'error'][below(3)], output: text(), problem: text(), diff: `-${text()}\n+${text()}` });
  for (let round = 0; round < count; round += 8) {
    const told = text();
    tell({ kind: 'talk', turns: [{ turn: { id: 't', message: 'x' }, parts: [{ kind: 'text', step: 1, text: told }, { kind: 'reasoning', step: 1, text: text() }, call()] }] });
    tell({ kind: 'prompts', prompts: [{ promptId: 'p', by: text(), question: text(), detail: text(), offers: [{ label: text(), isUsual: false }] }] });
    tell({ kind: 'state', state: { title: text(), model: 'm', mode: 'ask', spent: '', context: '', works: true, canResume: false, asks: text() } });
    for (const fold of document.querySelectorAll('details')) fold.open = true;
    if (log.scrollWidth > log.clientWidth) bad.push(`the conversation scrolls aside: ${told}`);
    for (const holder of document.querySelectorAll('.parts, .prompt, header, .compose')) {
      const box = holder.getBoundingClientRect();
      if (box.right > window.innerWidth + 0.5) bad.push(`${holder.className} leaves the window: ${told}`);
      for (const it of holder.querySelectorAll('*')) {
        elements++;
        const { left, right, top, bottom } = seen(it, holder);
        const isOut = right > left && bottom > top && (left < box.left - 0.5 || right > box.right + 0.5 || top < box.top - 0.5 || bottom > box.bottom + 0.5);
        if (isOut && bad.length < 5) bad.push(`${it.outerHTML.slice(0, 120)} leaves ${holder.className || holder.tagName}`);
      }
    }
    const compose = document.querySelector('.compose')!.getBoundingClientRect();
    if (compose.bottom > window.innerHeight + 0.5 || compose.height > window.innerHeight / 2) bad.push(`the box to write in is not where it was: ${told}`);
    if (bad.length > 5) break;
  }
  return { bad, elements };
}

/** Tries what the policy of the page forbids. */
async function trespass() {
  const loads = (element: HTMLElement) =>
    new Promise<string>((resolve) => {
      element.onload = () => resolve('loaded');
      element.onerror = () => resolve('stopped');
      document.addEventListener('securitypolicyviolation', () => setTimeout(resolve, 0, 'stopped'), { once: true });
      document.body.append(element);
    });
  const made = <K extends keyof HTMLElementTagNameMap>(tag: K, set: Partial<HTMLElementTagNameMap[K]>) => Object.assign(document.createElement(tag), set);
  const attempt = (run: () => void) => {
    try {
      run();
      return 'done';
    } catch {
      return 'stopped';
    }
  };
  const style = made('style', { textContent: 'main { opacity: 0.5 }' });
  document.head.append(style);
  const button = document.createElement('button');
  const handler = attempt(() => button.setAttribute('onclick', 'window.ran = 1'));
  button.click();
  return {
    script: attempt(() => document.body.append(made('script', { textContent: 'window.ran = 1' }))) === 'stopped' || !('ran' in window) ? 'stopped' : 'ran',
    handler: 'ran' in window ? 'ran' : handler && 'stopped',
    image: await loads(made('img', { src: '/a.png' })),
    style: getComputedStyle(document.querySelector('main')!).opacity === '1' ? 'stopped' : 'applied',
    frame: await loads(made('iframe', { src: '/frame' })),
    fetch: await fetch('/a').then(() => 'loaded', () => 'stopped'),
    html: attempt(() => (document.querySelector('main')!.innerHTML = '<b>x</b>')),
    eval: attempt(() => new Function('return 1')()),
  };
}

Object.assign(window, { attack, boxes, trespass });
