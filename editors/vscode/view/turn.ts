// A turn on the page: what the person said, what came of it part by part, and what can be done with it.
import type { ShownTurn } from '../src/shown';
import { OUTCOMES, type Call, type Part } from '../src/turnText';
import { counted, visible } from '../src/text';
import { button, counts, diff, make, place } from './elements';
import { drawMarkdown, type Block } from './markdown';

/** What a turn's buttons do. */
export interface Acts {
  edit: (turn: ShownTurn) => void;
  retry: (turn: ShownTurn) => void;
  undo: (turn: ShownTurn) => void;
  key: (turn: ShownTurn) => void;
  copy: (text: string) => void;
  insert: (text: string) => void;
}

const SIGNS = { waiting: '…', running: '…', ok: '✓', error: '✗', cancelled: '–', denied: '⊘' };
const ENDS = { ...OUTCOMES, elsewhere: 'works in another window' };
/** Lines of an output that are in sight while it is printed. */
const TAIL = 8;

interface Drawn {
  element: HTMLElement;
  blocks: Block[];
}

export class TurnElement {
  readonly element = make('article', 'turn');
  private readonly said = make('div', 'said');
  private readonly body = make('div', 'parts');
  private readonly foot = make('footer');
  private readonly end = make('span', 'told');
  private readonly acted = make('div', 'tools');
  private drawn: Drawn[] = [];
  /** The turn as it is now, which the buttons are about. */
  private turn?: ShownTurn;
  private readonly again = [
    button('Edit', () => this.act('edit')),
    button('Retry', () => this.act('retry')),
  ];
  private readonly undo = button('Undo Its Changes', () => this.act('undo'));
  private readonly key = button('Enter a Key…', () => this.act('key'));

  constructor(private readonly acts: Acts) {
    this.element.append(this.said, this.body, this.foot);
  }

  draw(turn: ShownTurn, from: number, parts: readonly Part[]): void {
    if (this.turn?.message !== turn.message) this.head(turn);
    this.turn = turn;
    for (const { element } of this.drawn.slice(from + parts.length)) element.remove();
    this.drawn.length = Math.min(this.drawn.length, from + parts.length);
    parts.forEach((part, at) => this.part(from + at, part));
    const { outcome, spent, changed, lacksKey } = turn;
    place(this.acted, outcome ? this.again : []);
    this.end.textContent = outcome
      ? [ENDS[outcome], ...(spent ? [spent] : [])].join(' · ')
      : 'works…';
    const ways = [...(lacksKey ? [this.key] : []), ...(changed ? [this.undo] : [])];
    place(this.foot, [this.end, ...(outcome ? ways : [])]);
  }

  private act(what: 'edit' | 'retry' | 'undo' | 'key'): void {
    if (this.turn) this.acts[what](this.turn);
  }

  private head({ message }: ShownTurn): void {
    const said = make('div', 'message', message || '(resumed)');
    this.said.replaceChildren(make('h2', '', 'You'), said, this.acted);
    this.element.setAttribute('aria-label', message.slice(0, 80));
  }

  private part(at: number, part: Part): void {
    const there = this.drawn[at];
    const same = there?.element.dataset.kind === part.kind ? there : undefined;
    if (same && (part.kind === 'text' || part.kind === 'note')) {
      same.blocks = this.markdown(same.element, part.text, same.blocks);
      return;
    }
    if (same && part.kind === 'reasoning') {
      // It may have been unfolded.
      same.element.querySelector('.thought')!.textContent = part.text;
      return;
    }
    const element = part.kind === 'call' ? this.call(part, same?.element) : this.told(part);
    element.dataset.kind = part.kind;
    if (there) there.element.replaceWith(element);
    else this.body.append(element);
    const blocks =
      part.kind === 'text' || part.kind === 'note' ? this.markdown(element, part.text, []) : [];
    this.drawn[at] = { element, blocks };
  }

  private markdown(parent: HTMLElement, text: string, blocks: Block[]): Block[] {
    return drawMarkdown(parent, text, blocks, (code, language) => this.code(code, language));
  }

  private told(part: Exclude<Part, Call>): HTMLElement {
    if (part.kind !== 'reasoning') return make('div', part.kind);
    return folded('Reasoning', make('div', 'thought', part.text));
  }

  private call(call: Call, before: HTMLElement | undefined): HTMLElement {
    const { status, exitStatus, title, output, problem } = call;
    // Of what was refused, who did it, and the note that went with it.
    const summary = status === 'denied' ? call.decided : call.summary;
    const failed = exitStatus ? ` (exit status ${exitStatus})` : '';
    const sign = exitStatus ? SIGNS.error : SIGNS[status];
    const element = make('div', `call ${exitStatus ? 'error' : status}`);
    const came = summary ? [make('span', 'summary', ` · ${visible(summary)}`)] : [];
    element.append(make('div', 'title', `${sign} `, ...coded(title), failed, ...came));
    if (problem) element.append(make('div', 'problem', ...ticked(problem)));
    if (call.diff) {
      const told = [counts(call.diff), ...(call.decided ? [visible(call.decided)] : [])];
      element.append(folded(told.join(' · '), diff(call.diff), unfolded(before, 'diff') ?? true));
    }
    const lines = output.trimEnd().split('\n');
    if (!output.trimEnd()) return element;
    // The end of an output is where a command that runs is, and why one failed.
    const isEndShown = status === 'running' || status === 'error' || Boolean(exitStatus);
    if (isEndShown) element.append(make('pre', 'tail', lines.slice(-TAIL).join('\n')));
    if (status !== 'running' && !(isEndShown && lines.length <= TAIL)) {
      const told = `Output (${counted(lines.length, 'line')})`;
      element.append(folded(told, make('pre', 'whole', output), unfolded(before, 'whole')));
    }
    return element;
  }

  private code(code: string, language: string): HTMLElement {
    const tools = make(
      'div',
      'tools',
      make('span', 'language', language),
      button('Copy', () => this.acts.copy(code)),
      button('Insert', () => this.acts.insert(code)),
    );
    const shown = language === 'diff' ? diff(code) : make('pre', '', make('code', '', code));
    return make('div', 'code', tools, shown);
  }
}

/** A title, with what stands between its backticks as code. */
function coded(title: string): (Node | string)[] {
  const [, before = title, code, after = ''] = /^([^`]*)`([^]*)`([^`]*)$/.exec(title) ?? [];
  return code === undefined ? [title] : [before, make('code', '', code), after];
}

/** A sentence, with what stands between two backticks as code. */
const ticked = (text: string): (Node | string)[] =>
  text.split(/(`[^`\s](?:[^`]*[^`\s])?`)/).map((it, at) => (at % 2 ? make('code', '', it.slice(1, -1)) : it));

/** Whether what is folded in a call as it was drawn before is open, by its class. */
const unfolded = (before: HTMLElement | undefined, name: string): boolean | undefined =>
  before?.querySelector<HTMLDetailsElement>(`details:has(> .${name})`)?.open;

function folded(title: string, content: HTMLElement, open = false): HTMLDetailsElement {
  const summary = make('summary', '', title);
  summary.tabIndex = -1;
  const element = make('details', '', summary, content);
  element.open = open;
  return element;
}
