// The page of the view: draws what it is sent, and sends what the person does. It keeps nothing but the text in its box.
import type { FromView, ShownPrompt, ShownState, ShownTurn, ToView } from '../src/shown';
import type { Part } from '../src/turnText';
import { button, counts, diff, make, place } from './elements';
import { Mentions } from './mentions';
import { TurnElement, type Acts } from './turn';

declare function acquireVsCodeApi(): {
  postMessage(message: FromView): void;
  getState(): { draft?: string } | undefined;
  setState(state: { draft: string }): void;
};

const host = acquireVsCodeApi();
const post = (message: FromView) => host.postMessage(message);

const main = document.querySelector('main')!;
const title = make('h1');
const log = make('div', 'log');
const turns = make('div', 'turns');
const prompts = make('div', 'prompts');
const lacking = make('div', 'lacking');
const waiting = make('div', 'waiting');
const told = make('div', 'unseen');
const editing = make('div', 'editing');
const wrong = make('div', 'problem');
const box = make('textarea', 'box');
const mentions = new Mentions(box, (typed) => post({ kind: 'mention', typed }), keep);
const tools = make('div', 'tools');
const spent = make('div', 'spent');

let drawn: TurnElement[] = [];
let shownPrompts = new Map<string, HTMLElement>();
let state: ShownState | undefined;
/** Whether the end of the conversation is kept in sight. */
let follows = true;
/** The turn that the text in the box takes the place of. */
let instead: string | undefined;

function build(): void {
  log.tabIndex = 0;
  log.role = 'log';
  log.ariaLabel = 'Conversation. Alt with an arrow goes from one button to the next.';
  // A text that is being written is not read aloud piece by piece; its end is.
  log.ariaLive = 'off';
  told.role = 'status';
  box.rows = 3;
  box.value = host.getState()?.draft ?? '';
  wrong.role = 'alert';
  box.addEventListener('input', keep);
  for (const event of ['focus', 'input'])
    box.addEventListener(event, () => post({ kind: 'typing' }));
  box.addEventListener('keydown', (event) => {
    const isTaken = mentions.takes(event);
    const sends = event.key === 'Enter' && (event.ctrlKey || event.metaKey);
    if (isTaken || sends) event.preventDefault();
    if (isTaken || !sends) return;
    send(event.shiftKey ? 'tell' : 'usual');
  });
  log.addEventListener('scroll', () => {
    look();
    drawWaiting();
  });
  // The room for it changes with the window, and with what stands below it.
  new ResizeObserver(follow).observe(log);
  log.append(turns, prompts, lacking);
  tools.append(make('div', 'choices', does.model, does.mode), done);
  const compose = make('div', 'compose', waiting, editing, mentions.element, wrong, box, tools, spent);
  main.append(
    make(
      'header',
      '',
      title,
      button('New', () => post({ kind: 'new' })),
    ),
    log,
    compose,
    told,
  );
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('[data-href]') : null;
    if (link instanceof HTMLElement) post({ kind: 'open', href: link.dataset.href ?? '' });
  });
  document.addEventListener('keydown', rove);
}

/** Goes from one button to the next, which Tab passes by. */
function rove(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (!event.altKey || !step) return;
  event.preventDefault();
  const all = [...document.querySelectorAll<HTMLElement>('button, summary, [data-href]')].filter(
    (it) => it.offsetParent,
  );
  const at = all.findIndex((it) => it === document.activeElement);
  const from = at < 0 && step < 0 ? all.length : at;
  all[(from + step + all.length) % all.length]?.focus();
}

function keep(): void {
  wrong.textContent = '';
  host.setState({ draft: box.value });
}

function send(how: 'usual' | 'tell'): void {
  const text = box.value;
  if (!text.trim()) return;
  if (state?.asks !== undefined && how === 'usual' && instead === undefined)
    post({ kind: 'answer', text });
  else post({ kind: 'send', text, instead });
  edit(undefined, '');
  follows = true;
  follow();
}

/** Takes a message into the box, in place of which the next one is sent. */
function edit(turn: ShownTurn | undefined, text: string): void {
  instead = turn?.id;
  box.value = text;
  keep();
  editing.replaceChildren(
    ...(turn
      ? [
          'In place of this message, and without what came after it.',
          button('Cancel', () => edit(undefined, '')),
        ]
      : []),
  );
  if (turn) box.focus();
}

const acts: Acts = {
  edit: (turn) => edit(turn, turn.message),
  retry: (turn) => post({ kind: 'send', text: turn.message, instead: turn.id }),
  undo: (turn) => post({ kind: 'undo', turnId: turn.id }),
  key: (turn) => post({ kind: 'key', turnId: turn.id }),
  copy: (text) => post({ kind: 'copy', text }),
  insert: (text) => post({ kind: 'insert', text }),
};

/** Draws something, and keeps the end in sight if it was. */
function following(draw: () => void): void {
  look();
  draw();
  follow();
}

/** Where the end is in sight, or the begin of the questions that wait there: they may need more room than there is. */
function end(): number {
  const bottom = log.scrollHeight - log.clientHeight;
  const first = prompts.firstElementChild;
  if (!first) return bottom;
  const below = first.getBoundingClientRect().top - log.getBoundingClientRect().top;
  return Math.min(bottom, log.scrollTop + below);
}

/** Notes whether the person reads at the end. */
function look(): void {
  follows = end() - log.scrollTop < 40;
}

/** Shows the end if the person reads there, however much room is left for it. */
function follow(): void {
  if (follows) log.scrollTop = Math.max(log.scrollTop, end());
  drawWaiting();
}

/** Leads to the questions that wait, or to the answers of one that is in sight, where none of them can be pressed. */
function drawWaiting(): void {
  const { top, bottom } = log.getBoundingClientRect();
  const isInSight = (it: Element | null) => {
    const box = it?.getBoundingClientRect();
    return box !== undefined && box.bottom > top && box.top < bottom;
  };
  const all = [...prompts.children];
  const seen = all.find((it) => isInSight(it.querySelector('.question')));
  const canAnswer = [...prompts.querySelectorAll('.answers button')].some(isInSight);
  const count = all.length;
  const label = seen
    ? 'Its answers are below'
    : count === 1
      ? 'A question waits'
      : `${count} questions wait`;
  const told = canAnswer || !count ? '' : `${label}: show`;
  if ((waiting.dataset.told ?? '') === told) return;
  waiting.dataset.told = told;
  const show = () => (seen ? showAnswers(seen) : showWaiting());
  waiting.replaceChildren(...(told ? [button(told, show)] : []));
}

function showAnswers(prompt: Element): void {
  prompt.querySelector('.answers')?.scrollIntoView({ block: 'start' });
  box.focus();
}

function showWaiting(): void {
  prompts.firstElementChild?.scrollIntoView({ block: 'start' });
  // The box takes an answer, and no key that comes by chance gives one.
  box.focus();
}

function drawTurn(at: number, turn: ShownTurn, from: number, parts: readonly Part[]): void {
  let element = drawn[at];
  if (!element) {
    element = drawn[at] = new TurnElement(acts);
    turns.append(element.element);
  }
  element.draw(turn, from, parts);
}

function drawPrompts(all: ShownPrompt[]): void {
  const before = shownPrompts;
  // One that stays as it is keeps the focus that it may have.
  shownPrompts = new Map(
    all.map((it) => {
      const key = JSON.stringify(it);
      return [key, before.get(key) ?? drawPrompt(it)];
    }),
  );
  place(prompts, [...shownPrompts.values()]);
}

function drawPrompt(prompt: ShownPrompt): HTMLElement {
  const { promptId, by, question, detail, about, isWhole, offers, isAsked } = prompt;
  const element = make('section', 'prompt', make('h2', '', by), make('p', 'question', question));
  element.ariaLabel = `${by} asks: ${question}`;
  if (detail) element.append(make('pre', 'detail', detail));
  if (about) element.append(make('p', 'about', about));
  if (prompt.diff) element.append(make('span', 'counts', counts(prompt.diff)), diff(prompt.diff));
  const answers = offers.map(({ label, isUsual }, at) =>
    button(label, () => post({ kind: 'choose', promptId, at }), isUsual ? 'usual' : ''),
  );
  const accept = button('Accept', () => post({ kind: 'accept', promptId }));
  const others = isAsked
    ? [
        button('Decline with a Note…', () => post({ kind: 'decline', promptId }), 'quiet'),
        button('Skip', () => post({ kind: 'skip', promptId }), 'quiet'),
      ]
    : [];
  element.append(make('div', 'answers', ...(isAsked && isWhole ? [accept] : []), ...answers, ...others));
  return element;
}

const does = {
  model: button('', () => post({ kind: 'model' }), 'quiet'),
  mode: button('', () => post({ kind: 'mode' }), 'quiet'),
  resume: button('Resume', () => post({ kind: 'resume' })),
  stop: button('Stop', () => post({ kind: 'stop' })),
  tell: button('Tell the Model', () => send('tell')),
  usual: button('', () => send('usual'), 'usual'),
};
const done = make('div', 'acts');

function drawTools({ model, mode, asks, works, canResume }: ShownState): void {
  does.model.textContent = `Model: ${model}`;
  does.mode.textContent = `Mode: ${mode}`;
  does.usual.textContent = asks ? 'Answer' : works ? 'Add' : 'Send';
  place(done, [
    ...(canResume ? [does.resume] : []),
    ...(works ? [does.stop] : []),
    ...(asks ? [does.tell] : []),
    does.usual,
  ]);
}

/** The ways to a model, where there is none. */
function drawLacking(text: string | undefined): void {
  lacking.replaceChildren(
    ...(text
      ? [
          make('p', '', text),
          button('Enter a Key…', () => post({ kind: 'key' }), 'usual'),
          button('Get Ollama', () => post({ kind: 'ollama' })),
          button('Take the Tour', () => post({ kind: 'tour' })),
        ]
      : []),
  );
}

function drawState(next: ShownState): void {
  const before = state;
  if (before?.lacking !== next.lacking) drawLacking(next.lacking);
  state = next;
  title.textContent = next.title;
  box.placeholder = next.asks
    ? `Answer “${next.asks}”. Ctrl+Enter sends it`
    : next.tours
      ? 'Write anything: the tour answers. Ctrl+Enter sends it'
      : 'Ask about the project. Ctrl+Enter sends it, @ adds a file';
  box.ariaLabel = box.placeholder;
  drawTools(next);
  spent.textContent = [next.spent, next.context].filter(Boolean).join(' · ');
  if (before?.works !== next.works)
    told.textContent = next.works ? 'Aside works.' : 'Aside is done.';
  if (next.asks && !before?.asks) told.textContent = `Aside asks: ${next.asks}`;
}

function hear(message: ToView): void {
  switch (message.kind) {
    case 'talk':
      drawn = [];
      turns.replaceChildren();
      message.turns.forEach(({ turn, parts }, at) => drawTurn(at, turn, 0, parts));
      follows = true;
      return follow();
    case 'turn':
      return following(() => drawTurn(message.at, message.turn, message.from, message.parts));
    case 'prompts':
      return following(() => drawPrompts(message.prompts));
    case 'state':
      return following(() => drawState(message.state));
    case 'mentions':
      return mentions.show(message.typed, message.all);
    case 'draft':
      box.value = message.text;
      keep();
      wrong.textContent = message.problem;
      return;
    case 'focus': {
      const answer = prompts.querySelector('button');
      return (message.on === 'answers' && answer ? answer : box).focus();
    }
  }
}

/**
 * What came while a button is pressed, which is drawn when it is let go: a click is one on the element that it began on, and is
 * lost where that is drawn anew meanwhile.
 */
let held: ToView[] | undefined;

function letGo(): void {
  const all = held ?? [];
  held = undefined;
  all.forEach(hear);
}

function hold(): void {
  const begin = () => (held ??= []);
  document.addEventListener('pointerdown', (event) => event.button === 0 && begin(), true);
  document.addEventListener('pointermove', ({ buttons }) => buttons === 0 && letGo(), true);
  document.addEventListener('keydown', ({ key, target }) => {
    if (key === ' ' && target instanceof Element && target.matches('button, summary')) begin();
  });
  // The click comes before what is held.
  for (const event of ['pointerup', 'pointercancel', 'keyup'])
    document.addEventListener(event, () => setTimeout(letGo), true);
  window.addEventListener('blur', letGo);
}

build();
hold();
window.addEventListener('message', ({ data }: MessageEvent<ToView>) =>
  held ? held.push(data) : hear(data),
);
post({ kind: 'ready' });
