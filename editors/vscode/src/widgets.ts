// Shows one prompt and gives back what the person did; nothing where it was only hidden.
import * as vscode from 'vscode';

import { isLong, visible } from './text';
import type { Answer, AnswerType, Prompt } from './wire';

type Of<K extends AnswerType['type']> = Prompt & { answerType: Extract<AnswerType, { type: K }> };
type Shown = Promise<Answer | undefined>;
type Widget<K extends AnswerType['type']> = (prompt: Of<K>, showing: Showing) => Shown;

export interface Showing {
  /** Takes the prompt off the screen. */
  over: vscode.CancellationToken;
  /** The person turns to it while it is on the screen. */
  again: vscode.Event<void>;
  /** Which of the turn's prompts it is, with those that were just answered. */
  position: Prompt['position'];
  /** It came by itself: a key that is on its way already answers nothing. */
  unasked: boolean;
}

/** Milliseconds in which a prompt that came by itself takes no answer. */
const GRACE = 500;

const questions: { [K in AnswerType['type']]: Widget<K> } = {
  boolean: (prompt, showing) => pick(prompt, showing, [choice('Yes', true, prompt), choice('No', false, prompt)]),
  select: (prompt, showing) => pick(prompt, showing, prompt.answerType.options.map((option) => choice(option, option, prompt))),
  multi_select: (prompt, showing) => pickMany(prompt, showing),
  number: (prompt, showing) => type(prompt, showing, readNumber(prompt.answerType)),
  text: (prompt, showing) => type(prompt, showing, readText(prompt.answerType)),
  secret: (prompt, showing) => type(prompt, showing, (value) => (value ? { value } : { problem: 'It cannot be empty.' })),
};

/** Asks a question, or for a permission that is not about a diff. */
export function show(prompt: Prompt, showing: Showing): Shown {
  if (prompt.kind !== 'question') return permit(prompt, showing);
  // The table has a widget for each type of answer; the compiler cannot see that a prompt's own is taken.
  return (questions[prompt.answerType.type] as Widget<AnswerType['type']>)(prompt, showing);
}

/** Asks for the note of a refusal; Escape takes the refusal back. */
export async function declineWithNote(): Shown {
  const note = await vscode.window.showInputBox({
    title: 'Decline',
    prompt: 'What shall the assistant know? (may be empty)',
    ignoreFocusOut: true,
  });
  return note === undefined ? undefined : { action: 'decline', note: note.trim() || undefined };
}

const PERMISSIONS: Record<string, string> = { once: 'Run Once', turn: 'Run in This Turn', always: 'Always Run' };
const REFUSED = 'No';
const REFUSED_WITH_NOTE = 'No, with a Note…';

/** A modal message with all that would run or be delivered; what is too long for one is opened beside a list. */
async function permit(prompt: Prompt, showing: Showing): Shown {
  const answers = new Map<string, unknown>();
  if (prompt.answerType.type === 'boolean') answers.set('Yes', true);
  else for (const [option, label] of Object.entries(PERMISSIONS)) if (offers(prompt, option)) answers.set(label, option);
  const detail = details(prompt);
  const title = asked(prompt, showing);
  const buttons = [...answers.keys(), REFUSED, REFUSED_WITH_NOTE];
  let chosen: string | undefined;
  if (isLong(detail)) {
    const document = await vscode.workspace.openTextDocument({ content: detail });
    await vscode.window.showTextDocument(document, { preview: true });
    chosen = await vscode.window.showQuickPick([REFUSED, REFUSED_WITH_NOTE, ...answers.keys()], { title, ignoreFocusOut: true }, showing.over);
  } else {
    chosen = await vscode.window.showWarningMessage(title, { modal: true, detail }, ...buttons);
  }
  if (chosen === REFUSED_WITH_NOTE) return declineWithNote();
  if (chosen === REFUSED) return { action: 'answer', answer: prompt.answerType.type === 'boolean' ? false : 'no' };
  return chosen === undefined ? undefined : { action: 'answer', answer: answers.get(chosen) };
}

const offers = ({ answerType }: Prompt, option: string): boolean => answerType.type === 'select' && answerType.options.includes(option);

/** What would run or be delivered, whole. */
export function details({ preview, context, tool }: Prompt): string {
  const what = !preview ? JSON.stringify(tool.arguments, undefined, 2) : preview.kind === 'diff' ? preview.new : preview.text;
  const where = preview?.kind === 'command' ? [`in ${preview.cwd}`] : [];
  return visible([...(context ? [context] : []), what, ...where].join('\n\n'));
}

/** Who asks, which of several prompts it is, and what is asked. */
function asked({ label, text }: Prompt, { position: { n, of } }: Showing): string {
  return visible(`${label}${of > 1 ? ` (${n} of ${of})` : ''}: ${text}`);
}

const oneLine = (text = ''): string => visible(text).trim().replace(/\s*\n\s*/g, ' · ');

interface Choice extends vscode.QuickPickItem {
  answer: unknown;
}

function choice(label: string, answer: unknown, prompt: Prompt): Choice {
  return { label: visible(label), answer, description: answer === prompt.default ? 'default' : undefined };
}

function picker(prompt: Prompt, choices: Choice[]): vscode.QuickPick<Choice> {
  const input = vscode.window.createQuickPick<Choice>();
  input.items = choices;
  input.placeholder = oneLine(prompt.context) || 'Escape hides it and leaves it open';
  return input;
}

function pick(prompt: Prompt, showing: Showing, choices: Choice[]): Shown {
  const input = picker(prompt, choices);
  // Without a default nothing is active: Enter alone says nothing then.
  input.activeItems = choices.filter((it) => it.answer === prompt.default);
  return settle(input, prompt, showing, () => input.selectedItems[0] && { value: input.selectedItems[0].answer });
}

function pickMany(prompt: Of<'multi_select'>, showing: Showing): Shown {
  const { options, minimum = 0, maximum = options.length } = prompt.answerType;
  const choices = options.map((option) => choice(option, option, { ...prompt, default: undefined }));
  const input = picker(prompt, choices);
  input.canSelectMany = true;
  const chosen = Array.isArray(prompt.default) ? prompt.default : [];
  input.selectedItems = choices.filter((it) => chosen.includes(it.answer));
  return settle(input, prompt, showing, () => {
    const value = input.selectedItems.map((it) => it.answer);
    if (value.length >= minimum && value.length <= maximum) return { value };
    input.placeholder = `Choose ${minimum} to ${maximum}.`;
    return undefined;
  });
}

type Read = (value: string) => { value: unknown } | { problem: string };

function type(prompt: Prompt, showing: Showing, read: Read): Shown {
  const input = vscode.window.createInputBox();
  input.password = prompt.answerType.type === 'secret';
  input.prompt = oneLine(prompt.context);
  input.ignoreFocusOut = true;
  if (typeof prompt.default === 'string' || typeof prompt.default === 'number') input.value = `${prompt.default}`;
  const problem = () => {
    const result = read(input.value);
    return 'problem' in result ? result.problem : undefined;
  };
  input.onDidChangeValue(() => (input.validationMessage = input.value ? problem() : undefined));
  return settle(input, prompt, showing, () => {
    const result = read(input.value);
    if ('value' in result) return result;
    input.validationMessage = result.problem;
    return undefined;
  });
}

function readNumber({ integer, minimum, maximum }: Extract<AnswerType, { type: 'number' }>): Read {
  const bounds = [...(minimum === undefined ? [] : [`at least ${minimum}`]), ...(maximum === undefined ? [] : [`at most ${maximum}`])];
  const wanted = `It has to be a ${integer ? 'whole ' : ''}number${bounds.length ? ', ' : ''}${bounds.join(' and ')}.`;
  return (text) => {
    const value = text.trim() ? Number(text) : NaN;
    const fits = Number.isFinite(value) && value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity) && (!integer || Number.isInteger(value));
    return fits ? { value } : { problem: wanted };
  };
}

/** The format is the server's to check; it says so, and the prompt stays open. */
function readText({ minimum = 0, maximum = Infinity }: Extract<AnswerType, { type: 'text' }>): Read {
  return (value) => {
    const { length } = Array.from(value);
    if (length < minimum) return { problem: `It has to have at least ${minimum} characters.` };
    return length > maximum ? { problem: `It may have ${maximum} characters at the most.` } : { value };
  };
}

const SKIP = { iconPath: new vscode.ThemeIcon('debug-step-over'), tooltip: 'Skip' };
const DECLINE = { iconPath: new vscode.ThemeIcon('circle-slash'), tooltip: 'Decline with a note' };
const LEAVE_OUT = { iconPath: new vscode.ThemeIcon('dash'), tooltip: 'Leave it out' };
const REMEMBER = { iconPath: new vscode.ThemeIcon('pin'), tooltip: 'Answer for the rest of this turn' };
const REMEMBERED = { iconPath: new vscode.ThemeIcon('pinned'), tooltip: 'Answer only this time' };

/** Shows an input with the actions that all prompts have, and waits for what becomes of it. */
function settle(
  input: vscode.InputBox | vscode.QuickPick<Choice>,
  prompt: Prompt,
  showing: Showing,
  accept: () => { value: unknown } | undefined,
): Shown {
  let remember = false;
  const shownAt = Date.now();
  const title = () => {
    input.title = `${asked(prompt, showing)}${remember ? ' – for the rest of this turn' : ''}`;
    const pins = prompt.remember ? [remember ? REMEMBERED : REMEMBER] : [];
    input.buttons = [...pins, ...(prompt.optional ? [LEAVE_OUT] : []), DECLINE, SKIP];
  };
  title();
  return new Promise<Answer | undefined>((resolve) => {
    const done = (answer?: Answer) => {
      resolve(answer);
      input.dispose();
    };
    showing.again(() => input.show());
    input.onDidHide(() => done());
    showing.over.onCancellationRequested(() => done());
    input.onDidAccept(() => {
      if (showing.unasked && Date.now() - shownAt < GRACE) return;
      const accepted = accept();
      if (accepted) done({ action: 'answer', answer: accepted.value, remember: remember || undefined });
    });
    input.onDidTriggerButton((button) => {
      if (button === SKIP) done({ action: 'cancel' });
      else if (button === LEAVE_OUT) done({ action: 'answer', answer: null });
      else if (button === DECLINE) {
        // The note's own box takes this one off the screen, which must not count as hidden.
        resolve(declineWithNote());
        input.dispose();
      } else {
        remember = !remember;
        title();
      }
    });
    input.show();
  });
}
