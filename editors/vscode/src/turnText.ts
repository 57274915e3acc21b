// What a turn said and did, part by part, and the same as markdown.
import { counted, escaped, fenced, titled, worded } from './text';
import type { Outcome, TurnCompleted, Update, Usage } from './wire';

type CallStatus = Extract<Update, { kind: 'toolResult' }>['status'] | 'waiting' | 'running';

export interface Call {
  readonly kind: 'call';
  readonly callId: string;
  readonly step?: number;
  readonly title: string;
  readonly status: CallStatus;
  /** What it printed, of a long output the end. */
  readonly output: string;
  readonly exitStatus?: number;
  /** What came of it, in a few words, where it printed and changed nothing. */
  readonly summary?: string;
  readonly diff?: string;
  /** What was decided about it, and by whom; a change may be taken in part. */
  readonly decided?: string;
  /** What went wrong, or why a change cannot be shown. */
  readonly problem?: string;
}
type Said = {
  readonly kind: 'text' | 'reasoning';
  readonly step: number;
  readonly text: string;
};
/** Markdown of Aside's own. Below what is being written, which goes on above it, unless that has ended. */
type Note = { readonly kind: 'note'; readonly text: string; readonly isBelow: boolean };

/** A part of a turn; one that changes is replaced by another. */
export type Part = Said | Call | Note;

/** What a person can do about a refusal, by its reason. */
const HINTS: Record<string, string> = {
  not_trusted: '*To allow it, trust the workspace: “Workspaces: Manage Workspace Trust”.*',
};

const SIGNS: Record<CallStatus, string> = {
  waiting: '…',
  running: '…',
  ok: '✓',
  error: '✗',
  cancelled: '–',
  denied: '⊘',
};
/** Ends of a turn, in words. */
export const OUTCOMES: Record<Outcome, string> = {
  completed: 'done',
  cancelled: 'stopped',
  failed: 'failed',
  interrupted: 'interrupted',
};
const INQUIRIES = {
  asked: 'A model is asked.',
  answered: 'The model answered.',
  failed: 'The model did not answer.',
};

/** Characters of an output that are kept. */
const OUTPUT = 200_000;
/** Characters of a result that stand behind the title of its call; a longer one is an output. */
const SUMMARY = 100;
/** Lines at the end of an output that are shown beside the code, while it runs and afterwards. */
const LAST_LINES = 8;

export class TurnText {
  parts: Part[] = [];
  /** What is asked, by its prompt; for a permission, the call that it is about. */
  private readonly questions = new Map<string, { text: string } | { callId: string }>();
  /** The number of parts that were there when the turn was resumed. */
  private resumed = 0;
  usage?: Usage;
  /** Tokens that the conversation has after the turn, and those that its model takes; missing before a response. */
  context?: { tokens: number; window: number };
  outcome?: Outcome;
  /** Whether it changed files, which can be taken back. */
  changed = false;
  /** Whether it failed because no model let itself be asked, for which a key may be the remedy. */
  lacksKey = false;

  /** The titles of the running tools. */
  get running(): string[] {
    return this.parts.flatMap((it) =>
      it.kind === 'call' && it.status === 'running' ? [it.title] : [],
    );
  }

  apply(update: Update): void {
    switch (update.kind) {
      case 'text':
      case 'reasoning':
        return this.say(update);
      case 'toolCall':
        return this.call(update.callId, { ...update, title: this.titleOf(update) });
      case 'toolOutput': {
        const output = `${this.find(update.callId)?.output ?? ''}${update.text}`.slice(-OUTPUT);
        return this.call(update.callId, { output });
      }
      case 'edit': {
        this.changed = true;
        const diffs = update.changes.flatMap(({ diff }) => (diff ? [changed(diff)] : []));
        const problems = update.changes.flatMap(({ missing }) => missing ?? []);
        return this.call(update.callId, {
          diff: diffs.join('\n') || undefined,
          problem: problems.join(' ') || undefined,
        });
      }
      case 'toolResult': {
        const { callId, status, exitStatus, summary, content } = update;
        const failed = status === 'error' ? { problem: summary } : {};
        const there = this.find(callId);
        const told = status === 'ok' && exitStatus === undefined ? summary : undefined;
        const isShown = Boolean(there?.output || there?.diff);
        const gave = isShown ? {} : came(content, told);
        return this.call(callId, { status, exitStatus, ...failed, ...gave });
      }
      case 'question':
        return 'outcome' in update ? this.settled(update) : this.asked(update);
      case 'inquiry':
        return this.note(`*${INQUIRIES[update.status]}*`);
      case 'steered':
        return this.note(`> **You:** ${escaped(update.text)}`);
      case 'retry':
        if (update.discardStep !== undefined) this.discard(update.discardStep);
        return this.note(
          `*${worded(update.reason.replace(/\.?$/, '.'))} The request is sent again in ${counted(Math.ceil(update.afterMs / 1000), 'second')}.*`,
        );
      case 'notice':
        return this.note(`*${worded(update.text)}*`);
      case 'usage':
        return this.spend(update);
      case 'summary':
        // Notices say so.
        return;
      case 'title':
        // The list has it.
        return;
      default:
        // A kind that a newer server has; the compiler names one that is known and not shown.
        update satisfies never;
    }
  }

  complete({ outcome, error, refusals, usage }: TurnCompleted): void {
    this.outcome = outcome;
    this.usage = usage;
    for (const { text } of refusals) this.note(`⊘ ${worded(text)}`);
    for (const hint of new Set(refusals.map(({ reason }) => HINTS[reason]))) if (hint) this.note(hint);
    this.fail(error);
  }

  /** Says why the turn failed, if it did. */
  fail(error: TurnCompleted['error']): void {
    if (!error) return;
    this.note(`**${worded(error.message)}**`);
    this.lacksKey = error.code === 'no_provider';
  }

  note(text: string, isBelow = true): void {
    this.parts.push({ kind: 'note', text, isBelow });
  }

  /** About how long the text is. */
  get length(): number {
    return this.parts.reduce(
      (sum, it) => sum + (it.kind === 'call' ? it.output : it.text).length,
      0,
    );
  }

  markdown(): string {
    return this.parts
      .map((it) =>
        it.kind === 'call'
          ? `\n\n${called(it)}\n\n`
          : it.kind === 'note'
            ? `\n\n${it.text}\n\n`
            : it.kind === 'text'
              ? it.text
              : '',
      )
      .join('')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
  }

  /** Goes on after an interruption. */
  resume(): void {
    delete this.outcome;
    this.resumed = this.parts.length;
  }

  private discard(step: number): void {
    this.parts = this.parts.filter((it) => it.kind === 'note' || it.step !== step);
  }

  private say({ kind, step, text }: Said): void {
    // A step that was cut off is made again as a whole.
    const before = this.parts.slice(0, this.resumed);
    if (before.some((it) => it.kind !== 'note' && it.step === step)) {
      this.discard(step);
      this.resumed = 0;
    }
    const at = this.parts.findLastIndex((it) => it.kind !== 'note' || !it.isBelow);
    const last = this.parts[at];
    if (last?.kind === kind && last.step === step)
      this.parts[at] = { kind, step, text: last.text + text };
    else this.parts.push({ kind, step, text });
  }

  private find(callId: string): Call | undefined {
    return this.parts.find((it): it is Call => it.kind === 'call' && it.callId === callId);
  }

  /** A call that a turn was resumed at is told again by its name alone. */
  private titleOf({ callId, name, title }: Extract<Update, { kind: 'toolCall' }>): string {
    return (title === name && this.find(callId)?.title) || title;
  }

  /** A call is one part, whatever becomes of it. */
  private call(callId: string, more: Partial<Omit<Call, 'kind' | 'callId'>>): void {
    const there = this.find(callId);
    const { step, title, status, output, exitStatus, summary, diff, decided, problem } = {
      ...(there ?? { title: callId, status: 'waiting' as const, output: '' }),
      ...more,
    };
    const now: Call = {
      kind: 'call',
      callId,
      step,
      title,
      status,
      output,
      exitStatus,
      summary,
      diff,
      decided,
      problem,
    };
    if (there) this.parts[this.parts.indexOf(there)] = now;
    else this.parts.push(now);
  }

  /** A permission is asked for in the words of the call's own line, which tells later what was decided. */
  private asked({
    promptId,
    callId,
    promptKind,
    label,
    text,
  }: Extract<Update, { promptKind: unknown }>): void {
    const isPermission = promptKind === 'runTool';
    // Only what the model itself asks belongs to no call that is shown.
    const by = this.find(callId) ? `${label}: ` : '';
    if (isPermission) this.call(callId, { title: text.replace(/\?$/, '') });
    this.questions.set(promptId, isPermission ? { callId } : { text: `${by}${text}` });
  }

  private settled({ promptId, text }: Extract<Update, { outcome: unknown }>): void {
    const about = this.questions.get(promptId) ?? { text: 'A question' };
    if ('callId' in about) this.call(about.callId, { decided: text });
    else this.note(`- ${escaped(about.text)} → ${escaped(text)}`);
  }

  private spend(usage: Usage): void {
    const { contextTokens, contextWindow } = usage;
    if (contextTokens !== undefined && contextWindow !== undefined)
      this.context = { tokens: contextTokens, window: contextWindow };
    this.usage = usage;
  }
}

/** What came of a call that printed and changed nothing: all that it gave, or a few words. */
function came(content: string | undefined, told = ''): Partial<Call> {
  const isShort = content === undefined && told.length <= SUMMARY;
  return isShort ? { summary: told } : { output: (content ?? told).slice(-OUTPUT) };
}

/** A call as markdown: its line, and below that what it did, or the end of what it printed. */
function called({ status, exitStatus, title, summary, diff, decided, problem, output }: Call): string {
  const sign = exitStatus ? SIGNS.error : SIGNS[status];
  const lines = output.trimEnd().split('\n');
  const more = lines.length - LAST_LINES;
  const before = more > 0 ? `… ${counted(more, 'line')} more\n` : '';
  const below = diff
    ? `${fenced(diff, 'diff')}\n\n${worded(problem ?? '')}`
    : problem
      ? worded(problem)
      : lines[0] || more > 0
        ? fenced(before + lines.slice(-LAST_LINES).join('\n'))
        : '';
  const told = diff || status === 'denied' ? decided : summary;
  const behind = exitStatus ? ` (exit status ${exitStatus})` : told ? ` · ${escaped(told)}` : '';
  return `- ${sign} ${titled(title)}${behind}\n\n${below}`;
}

/** A diff without the two lines that name its file, which the call's title names. */
const changed = (diff: string): string => diff.replace(/^--- .*\n\+\+\+ .*\n/, '');

/** Tokens and US dollars, in a few words. */
export function spent({
  inputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  outputTokens,
  costUsd,
  atLeast,
}: Usage): string {
  const dollars = `${atLeast ? 'at least ' : ''}$${costUsd?.toFixed(4)}`;
  const cost = costUsd === undefined ? '' : ` · ${dollars}`;
  return `${counted(inputTokens + cacheReadTokens + cacheWriteTokens, 'token')} in, ${outputTokens} out${cost}`;
}

/** The usage of several turns together; the cost is known where that of each is. */
export function summed(turns: Usage[]): Usage | undefined {
  // What ended before the model told its tokens says nothing of them.
  const all = turns.filter((it) => it.inputTokens + it.outputTokens > 0);
  if (!all.length) return undefined;
  const sum = (of: (it: Usage) => number) => all.reduce((total, it) => total + of(it), 0);
  const isPriced = all.every(({ costUsd }) => costUsd !== undefined);
  return {
    inputTokens: sum((it) => it.inputTokens),
    outputTokens: sum((it) => it.outputTokens),
    cacheReadTokens: sum((it) => it.cacheReadTokens),
    cacheWriteTokens: sum((it) => it.cacheWriteTokens),
    costUsd: isPriced ? sum(({ costUsd = 0 }) => costUsd) : undefined,
    atLeast: all.some(({ atLeast }) => atLeast),
  };
}
