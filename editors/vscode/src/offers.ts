// Answers that can be given where a prompt is read: by a click on one, or by what is typed below it.
import { isLong } from './text';
import { details, label, permission, read } from './widgets';
import type { Answer, Prompt } from './wire';

/** An answer that is one click; without it the click opens the prompt itself. */
export type Offer = { label: string; answer?: Answer };

const answered = (answer: unknown): Answer => ({ action: 'answer', answer });

/** Choices of a prompt; a call can be allowed only where the whole of it is shown beside them. */
export function offers(prompt: Prompt): Offer[] {
  const { answerType, kind, preview, optional } = prompt;
  if (prompt.resumable) return [{ label: 'Resume, to Answer It…' }];
  if (preview?.kind === 'diff') return [{ label: 'Show the Change' }, refusal(prompt)];
  if (kind !== 'question') {
    if (isLong(details(prompt))) return [{ label: 'Review…' }, refusal(prompt)];
    if (answerType.type !== 'select')
      return [{ label: 'Yes', answer: answered(true) }, refusal(prompt)];
    return answerType.options.map((it) => ({
      label: permission(prompt, it) ?? 'No',
      answer: answered(it),
    }));
  }
  return [
    ...choices(prompt).map((value) => ({ label: label(value), answer: answered(value) })),
    ...(answerType.type === 'multi_select' ? [{ label: 'Choose…' }] : []),
    ...(answerType.type === 'text' || answerType.type === 'number' ? [{ label: 'Type It…' }] : []),
    ...(answerType.type === 'secret' ? [{ label: 'Type It Hidden…' }] : []),
    ...(optional ? [{ label: 'Leave It Out', answer: answered(null) }] : []),
  ];
}

/**
 * A text that was typed below a question, as its answer.
 *
 * @throws an error that says why it is none
 */
export function typedAnswer(prompt: Prompt, text: string): Answer {
  const { answerType, expects } = prompt;
  const typed = text.trim();
  if (answerType.type === 'secret')
    throw new Error('A secret is not typed where it can be read; choose “Type It Hidden…” above.');
  if (answerType.type === 'multi_select') {
    const chosen = typed.split(',').map((it) => like(answerType.options, it));
    const { minimum = 0, maximum = answerType.options.length } = answerType;
    const fits = chosen.length >= minimum && chosen.length <= maximum;
    if (fits && !chosen.includes(undefined)) return answered(chosen);
    throw new Error(
      `“${typed}” is not ${minimum} to ${maximum} of ${answerType.options.join(', ')}; correct it, or send it with “Tell the Model”.`,
    );
  } else if (answerType.type === 'boolean' || answerType.type === 'select') {
    const chosen = like(choices(prompt), typed);
    if (chosen !== undefined) return answered(chosen);
  } else {
    const value = read(answerType, typed);
    if (value !== undefined) return answered(value);
  }
  throw new Error(
    `“${typed}” is not ${expects ?? 'one of the answers'}; correct it, or send it with “Tell the Model”.`,
  );
}

/** What a typed answer has to be, where that is not every text. */
export const expected = ({ answerType, expects }: Prompt): string | undefined =>
  expects && (answerType.type === 'text' || answerType.type === 'number')
    ? `Expected: ${expects}.`
    : undefined;

const refusal = ({ answerType }: Prompt): Offer => ({
  label: 'No',
  answer: answered(answerType.type === 'boolean' ? false : 'no'),
});

function choices({ answerType, default: usual }: Prompt): unknown[] {
  if (answerType.type === 'boolean') return [true, false];
  if (answerType.type === 'select') return answerType.options;
  return (answerType.type === 'text' || answerType.type === 'number') && usual !== undefined
    ? [usual]
    : [];
}

/** The choice whose label a text is, whatever the case of its letters. */
const like = <T>(all: T[], text: string): T | undefined =>
  all.find((it) => label(it) === text.trim()) ??
  all.find((it) => label(it).toLowerCase() === text.trim().toLowerCase());
