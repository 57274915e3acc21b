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
  readonly diff?: string;
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

const SIGNS: Record<CallStatus, string> = {
  waiting: '…',
  running: '…',
  ok: '✓',
  error: '✗',
  cancelled: '–',
  denied: '⊘',
};
const INQUIRIES = {
  asked: 'A model is asked.',
  answered: 'The model answered.',
  failed: 'The model did not answer.',
};

/** Characters of an output that are kept. */
const OUTPUT = 200_000;
/** Lines at the end of an output that are shown beside the code, while it runs and afterwards. */
const LAST_LINES = 8;

export class TurnText {
  parts: Part[] = [];
  private readonly questions = new Map<string, string>();
  usage?: Usage;
  /** Tokens that the conversation has after the turn, and those that its model takes; missing before a response. */
  context?: { tokens: number; window: number };
  outcome?: Outcome;
  /** Whether it changed files, which can be taken back. */
  changed = false;

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
        return this.call(update.callId, update);
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
        const { callId, status, exitStatus, summary } = update;
        const failed = status === 'error' ? { problem: summary } : {};
        return this.call(callId, { status, exitStatus, ...failed });
      }
      case 'question':
        return 'outcome' in update ? this.settled(update) : this.asked(update);
      case 'inquiry':
        return this.note(`*${INQUIRIES[update.status]}*`);
      case 'steered':
        return this.note(`> ${escaped(update.text)}`);
      case 'retry':
        if (update.discardStep !== undefined)
          this.parts = this.parts.filter(
            (it) => it.kind === 'note' || it.step !== update.discardStep,
          );
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
    if (error) this.note(`**${worded(error.message)}**`);
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

  private say({ kind, step, text }: Said): void {
    const at = this.parts.findLastIndex((it) => it.kind !== 'note' || !it.isBelow);
    const last = this.parts[at];
    if (last?.kind === kind && last.step === step)
      this.parts[at] = { kind, step, text: last.text + text };
    else this.parts.push({ kind, step, text });
  }

  private find(callId: string): Call | undefined {
    return this.parts.find((it): it is Call => it.kind === 'call' && it.callId === callId);
  }

  /** A call is one part, whatever becomes of it. */
  private call(callId: string, more: Partial<Omit<Call, 'kind' | 'callId'>>): void {
    const there = this.find(callId);
    const { step, title, status, output, exitStatus, diff, problem } = {
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
      diff,
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
    if (promptKind === 'runTool') this.call(callId, { title: text.replace(/\?$/, '') });
    this.questions.set(promptId, promptKind === 'runTool' ? '' : `${label}: ${text}`);
  }

  private settled({ promptId, text }: Extract<Update, { outcome: unknown }>): void {
    const question = this.questions.get(promptId) ?? 'A question';
    if (question) this.note(`- ${escaped(question)} → ${escaped(text)}`);
  }

  private spend(usage: Usage): void {
    const { contextTokens, contextWindow } = usage;
    if (contextTokens !== undefined && contextWindow !== undefined)
      this.context = { tokens: contextTokens, window: contextWindow };
    this.usage = usage;
  }
}

/** A call as markdown: its line, and below that what it did, or the end of what it printed. */
function called({ status, exitStatus, title, diff, problem, output }: Call): string {
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
  return `- ${sign} ${titled(title)}${exitStatus ? ` (exit status ${exitStatus})` : ''}\n\n${below}`;
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
  return `${inputTokens + cacheReadTokens + cacheWriteTokens} tokens in, ${outputTokens} out${cost}`;
}

/** The usage of several turns together; the cost is known where that of each is. */
export function summed(all: Usage[]): Usage | undefined {
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
