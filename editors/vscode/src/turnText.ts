// What happened in a turn, as markdown.
import { escaped, fenced } from './text';
import type { Outcome, TurnCompleted, Update, Usage } from './wire';

type Part = { text: string; step?: number; call?: string };

const RESULTS = { ok: '✓', error: '✗', cancelled: '–', denied: '⊘' };

export class TurnText {
  private parts: Part[] = [];
  private readonly titles = new Map<string, string>();
  private readonly questions = new Map<string, string>();
  /** The titles of the running tools. */
  readonly running = new Map<string, string>();
  usage?: Usage;
  outcome?: Outcome;

  apply(update: Update): void {
    switch (update.kind) {
      case 'text':
        return this.say(update.text, update.step);
      case 'toolCall':
        this.titles.set(update.callId, update.title);
        if (update.status === 'running') this.running.set(update.callId, update.title);
        return this.mark(update.callId, `… ${escaped(update.title)}`, update.step);
      case 'toolResult':
        this.running.delete(update.callId);
        this.mark(update.callId, `${RESULTS[update.status]} ${escaped(this.titles.get(update.callId) ?? update.callId)}`);
        if (update.diff) this.note(fenced(update.diff, 'diff'));
        else if (update.status === 'error') this.note(escaped(update.summary));
        return;
      case 'question':
        if ('text' in update) this.questions.set(update.promptId, `${update.label}: ${update.text}`);
        else this.settled(update);
        return;
      case 'inquiry':
        return this.note(`*${{ asked: 'A model is asked.', answered: 'The model answered.', failed: 'The model did not answer.' }[update.status]}*`);
      case 'steered':
        return this.note(`> ${escaped(update.text)}`);
      case 'retry':
        if (update.discardStep !== undefined) this.parts = this.parts.filter(({ step }) => step !== update.discardStep);
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
    this.running.clear();
    for (const { text } of refusals) this.note(`⊘ ${escaped(text)}`);
    if (error) this.note(`**${escaped(error.message)}**`);
  }

  note(text: string): void {
    this.parts.push({ text: `\n\n${text}\n\n` });
  }

  /** About how long the text is. */
  get length(): number {
    return this.parts.reduce((sum, { text }) => sum + text.length, 0);
  }

  markdown(): string {
    return this.parts.map(({ text }) => text).join('').replace(/\n{3,}/g, '\n\n').trim();
  }

  private say(text: string, step: number): void {
    const last = this.parts.at(-1);
    if (last && last.step === step && last.call === undefined) last.text += text;
    else this.parts.push({ text, step });
  }

  private mark(call: string, line: string, step?: number): void {
    const text = `\n\n- ${line}\n\n`;
    const there = this.parts.find((part) => part.call === call);
    if (there) there.text = text;
    else this.parts.push({ text, call, step });
  }

  private settled({ promptId, outcome, by, reason, answer }: Extract<Update, { outcome: unknown }>): void {
    const question = escaped(this.questions.get(promptId) ?? 'A question');
    const told = { answered: JSON.stringify(answer), redacted: '(hidden)', cancelled: `(${reason ?? 'cancelled'})` }[outcome];
    this.note(`- ${question} → ${escaped(told)}${by ? ` *(${escaped(by)})*` : ''}`);
  }
}

/** Tokens and US dollars, in a few words. */
export function spent(usage: Usage): string {
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const cost = usage.costUsd === undefined ? '' : ` · $${usage.costUsd.toFixed(4)}`;
  return `${input} tokens in, ${usage.outputTokens} out${cost}`;
}
