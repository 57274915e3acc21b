// What attack.mjs runs in its page: the renderer of the view with generated texts, and what the policy has to stop.
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
const codeBlock = (code: string) => {
  const element = document.createElement('pre');
  element.textContent = code;
  return element;
};

function attack(count: number) {
  const bad: string[] = [];
  let [links, elements] = [0, 0];
  for (let round = 0; round < count; round++) {
    const text = Array.from({ length: 1 + below(12) }, () => PIECES[below(PIECES.length)]).join('');
    const root = document.createElement('div');
    document.querySelector('main')!.replaceChildren(root);
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

Object.assign(window, { attack, trespass });
