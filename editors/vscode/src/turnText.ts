// The text of a turn as markdown.
import { escaped, fenced } from './text';
import type { Outcome, ShownChange, TurnCompleted, Update, Usage } from './wire';

const RESULTS = { ok: '✓', error: '✗', cancelled: '–', denied: '⊘' };
const INQUIRIES = {
  asked: 'A model is asked.',
  answered: 'The model answered.',
  failed: 'The model did not answer.',
};

export class TurnText {
  private parts: { text: string; step?: number; call?: string; isBelow?: boolean }[] = [];
  private readonly calls = new Map<string, { title: string; running: boolean }>();
  private readonly changes = new Map<string, string>();
  private readonly questions = new Map<string, string>();
  usage?: Usage;
  outcome?: Outcome;

  /** The titles of the running tools. */
  get running(): string[] {
    return [...this.calls.values()].flatMap(({ title, running }) => (running ? [title] : []));
  }

  apply(update: Update): void {
    switch (update.kind) {
      case 'text':
        return this.say(update.text, update.step);
      case 'toolCall':
        return this.call(update.callId, '…', update.title, {
          step: update.step,
          running: update.status === 'running',
        });
      case 'edit':
        this.changes.set(update.callId, update.changes.map(changed).join('\n\n'));
        return;
      case 'toolResult':
        return this.result(update);
      case 'question':
        return 'outcome' in update ? this.settled(update) : this.asked(update);
      case 'inquiry':
        return this.note(`*${INQUIRIES[update.status]}*`);
      case 'steered':
        return this.note(`> ${escaped(update.text)}`);
      case 'retry':
        if (update.discardStep !== undefined)
          this.parts = this.parts.filter(({ step }) => step !== update.discardStep);
        return this.note(`*${escaped(update.reason)} The request is sent again.*`);
      case 'notice':
        return this.note(`*${escaped(update.text)}*`);
      case 'usage':
        this.usage = update;
        return;
      default:
        // Other kinds are shown elsewhere, or not known to this version.
        return;
    }
  }

  complete({ outcome, error, refusals, usage }: TurnCompleted): void {
    this.outcome = outcome;
    this.usage = usage;
    for (const { text } of refusals) this.note(`⊘ ${escaped(text)}`);
    if (error) this.note(`**${escaped(error.message)}**`);
  }

  /** Below what is being written, which goes on above it, unless that has ended. */
  note(text: string, isBelow = true): void {
    this.parts.push({ text: `\n\n${text}\n\n`, isBelow });
  }

  /** About how long the text is. */
  get length(): number {
    return this.parts.reduce((sum, { text }) => sum + text.length, 0);
  }

  markdown(): string {
    return this.parts
      .map(({ text }) => text)
      .join('')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
  }

  private say(text: string, step: number): void {
    const last = this.parts.findLast(({ isBelow }) => !isBelow);
    if (last && last.step === step && last.call === undefined) last.text += text;
    else this.parts.push({ text, step });
  }

  /** A call has one line, whatever becomes of it, and what it did below. */
  private call(
    call: string,
    sign: string,
    title: string,
    { step, running = false, more = '' }: { step?: number; running?: boolean; more?: string } = {},
  ): void {
    this.calls.set(call, { title, running });
    const text = `\n\n- ${sign} ${escaped(title)}\n\n${more}\n\n`;
    const there = this.parts.find((part) => part.call === call);
    if (there) there.text = text;
    else this.parts.push({ text, call, step });
  }

  private result({
    callId,
    status,
    summary,
    exitStatus,
  }: Extract<Update, { kind: 'toolResult' }>): void {
    const sign = exitStatus ? RESULTS.error : RESULTS[status];
    const more = this.changes.get(callId) ?? (status === 'error' ? escaped(summary) : '');
    this.call(callId, sign, this.calls.get(callId)?.title ?? callId, { more });
  }

  /** A permission is asked for in the words of the call's own line, which tells later what was decided. */
  private asked({
    promptId,
    callId,
    promptKind,
    label,
    text,
  }: Extract<Update, { promptKind: unknown }>): void {
    if (promptKind === 'runTool') this.call(callId, '…', text.replace(/\?$/, ''));
    this.questions.set(promptId, promptKind === 'runTool' ? '' : `${label}: ${text}`);
  }

  private settled({ promptId, text }: Extract<Update, { outcome: unknown }>): void {
    const question = this.questions.get(promptId) ?? 'A question';
    if (question) this.note(`- ${escaped(question)} → ${escaped(text)}`);
  }
}

/** A change of a file, or why it cannot be shown. */
const changed = ({ diff, missing = '' }: ShownChange): string =>
  diff === undefined ? escaped(missing) : fenced(diff, 'diff');

/** Tokens and US dollars, in a few words. */
export function spent({
  inputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  outputTokens,
  costUsd,
}: Usage): string {
  const cost = costUsd === undefined ? '' : ` · $${costUsd.toFixed(4)}`;
  return `${inputTokens + cacheReadTokens + cacheWriteTokens} tokens in, ${outputTokens} out${cost}`;
}
