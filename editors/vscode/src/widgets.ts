// Shows one prompt and gives back what the person did; nothing where it was only hidden.
import * as vscode from 'vscode';
import { closeTabs, names } from './editorTools';
import { boxed, isLong, visible } from './text';
import type { Answer, AnswerType, Prompt } from './wire';

/** The person runs this call, and allows all tools of the editor by name. */
export const ALLOW_TOOLS = Symbol('allow the tools of the editor');

type Shown = Promise<Answer | undefined>;

export interface Showing {
  /** Takes the prompt off the screen. */
  over: vscode.CancellationToken;
  /** The place among the turn's prompts, including those that were just answered. */
  position: Prompt['position'];
  /** Whether it opened right after another one, or when its turn went on. A key that is already on its way answers nothing. */
  sudden: boolean;
}

/** Milliseconds in which a prompt that came suddenly takes no answer. */
export const GRACE = 500;

/** Asks a question, or for a permission that is not about a diff. */
export function show(
  prompt: Prompt,
  showing: Showing,
): Promise<Answer | typeof ALLOW_TOOLS | undefined> {
  const { kind, answerType } = prompt;
  if (kind !== 'question') return permit(prompt, showing);
  if (answerType.type === 'boolean') return pick(prompt, showing, [true, false]);
  if ('options' in answerType) return pick(prompt, showing, answerType.options);
  return type(prompt, showing);
}

/** Asks for the note of a refusal; Escape takes the refusal back. */
export async function declineWithNote(): Shown {
  const about = 'What shall the assistant know? (may be empty)';
  const note = await vscode.window.showInputBox({
    title: 'Decline',
    prompt: about,
    ignoreFocusOut: true,
  });
  return note === undefined ? undefined : { action: 'decline', note: note.trim() || undefined };
}

const PERMISSIONS: Record<string, string> = {
  once: 'Run Once',
  turn: 'Run in This Turn',
  always: 'Always Run',
};

/** The word of the button for an answer that allows a call; `undefined` for a no. */
export const permission = (prompt: Prompt, answer: string): string | undefined =>
  answer === 'turn' && prompt.turnPermits === 'edits'
    ? 'Make All Edits of This Turn'
    : PERMISSIONS[answer];

/** The answer that is on record where the user allows all tools of the editor: for good, where that is offered. */
export const allowing = ({ answerType }: Prompt): Answer => {
  const lasts = answerType.type === 'select' && answerType.options.includes('always');
  return { action: 'answer', answer: lasts ? 'always' : 'once' };
};

const ALL_THAT_READ = 'Always Run the Editor’s Tools';
const REFUSED = 'No';
const REFUSED_WITH_NOTE = 'No, with a Note…';

/** Documents with what would run or be delivered, where that is long; the query is the prompt's. */
export const PAGE = 'aside-prompt';
/** Lines of such a page that the list of answers lies over. */
const COVERED = 8;

export const pageOf = (prompt: Prompt): string => '\n'.repeat(COVERED) + details(prompt);

/** Asks in a modal message with the whole text that would run or be delivered. A long text is opened below a list. */
async function permit(
  prompt: Prompt,
  showing: Showing,
): Promise<Answer | typeof ALLOW_TOOLS | undefined> {
  const offered = prompt.answerType.type === 'select' ? prompt.answerType.options : [];
  const answers = new Map<string, unknown>(
    offered.flatMap((it) => {
      const word = permission(prompt, it);
      return word ? [[word, it] as const] : [];
    }),
  );
  if (prompt.answerType.type === 'boolean') answers.set('Yes', true);
  let detail = details(prompt);
  if (names.includes(prompt.tool.name)) {
    answers.set(ALL_THAT_READ, undefined);
    detail += `\n\n“${ALL_THAT_READ}” allows by name, in your settings, all of them that only read: ${names.join(', ')}.`;
  }
  const title = asked(prompt, showing);
  let chosen: string | undefined;
  if (isLong(detail)) {
    const name = `/${prompt.tool.name}.${prompt.preview?.kind === 'command' ? 'sh' : 'txt'}`;
    const page = vscode.Uri.from({ scheme: PAGE, path: name, query: prompt.promptId });
    const shows = ({ input }: vscode.Tab) =>
      input instanceof vscode.TabInputText && input.uri.toString() === page.toString();
    showing.over.onCancellationRequested(() => void closeTabs(shows));
    await vscode.window.showTextDocument(page);
    chosen = await vscode.window.showQuickPick(
      [REFUSED, REFUSED_WITH_NOTE, ...answers.keys()],
      { title, ignoreFocusOut: true },
      showing.over,
    );
  } else {
    const box = { modal: true, detail: boxed(detail) };
    let shownAt: number;
    do {
      shownAt = Date.now();
      chosen = await vscode.window.showWarningMessage(
        title,
        box,
        ...answers.keys(),
        REFUSED,
        REFUSED_WITH_NOTE,
      );
    } while (chosen !== undefined && showing.sudden && Date.now() - shownAt < GRACE);
  }
  if (chosen === ALL_THAT_READ) return ALLOW_TOOLS;
  if (chosen === REFUSED_WITH_NOTE) return declineWithNote();
  if (chosen === REFUSED)
    return { action: 'answer', answer: prompt.answerType.type === 'boolean' ? false : 'no' };
  return chosen === undefined ? undefined : { action: 'answer', answer: answers.get(chosen) };
}

/** What a permission that lasts is for, in words. */
export function lasting({ preview, answerType }: Prompt): string[] {
  const lasts = answerType.type === 'select' ? answerType.options : [];
  const words = ['turn', 'always'].filter((it) => lasts.includes(it));
  if (preview?.kind !== 'command' || !words.length) return [];
  const said = words.map((it) => `“${PERMISSIONS[it]}”`).join(' and ');
  return [
    `${said} hold for exactly this command in this folder. What is allowed inside the sandbox is not allowed outside of it.`,
  ];
}

/** The whole text that would run or be delivered. */
export function subject({ preview, context, tool }: Prompt): string {
  const what = !preview
    ? JSON.stringify(tool.arguments, undefined, 2)
    : preview.kind === 'diff'
      ? preview.new
      : preview.text;
  const where = preview?.kind === 'command' ? [`in ${preview.cwd}`] : [];
  const parts = [...(context ? [context] : []), what.trimEnd(), ...where];
  return visible(parts.join('\n\n'));
}

/** The same, and what an answer that lasts is for. */
export const details = (prompt: Prompt): string =>
  [subject(prompt), ...lasting(prompt)].join('\n\n');

/** Who asks: a tool or a server of somebody else, or Aside, which also asks for the model and for a permission. */
export function asker({ kind, label, source, tool }: Prompt): string {
  const isOwn = kind === 'question' ? source.type === 'assistant' : tool.server === undefined;
  return isOwn ? 'Aside' : visible(label);
}

/** An answer in a few words. */
export const label = (answer: unknown): string =>
  answer === true ? 'Yes' : answer === false ? 'No' : visible(String(answer));

/** The question in one line. The server's text about a command repeats the command, shortened. */
export const question = ({ preview, text }: Prompt): string =>
  preview?.kind === 'command' ? 'Run this command?' : text;

/** The asker, the place among several prompts, and the question. */
function asked(prompt: Prompt, { position: { n, of } }: Showing): string {
  return `${asker(prompt)}${of > 1 ? ` (${n} of ${of})` : ''}: ${visible(question(prompt))}`;
}

const oneLine = (text = ''): string =>
  visible(text)
    .trim()
    .replace(/\s*\n\s*/g, ' · ');

type Choice = vscode.QuickPickItem & { answer: unknown };

function pick(prompt: Prompt, showing: Showing, options: unknown[]): Shown {
  const input = vscode.window.createQuickPick<Choice>();
  const isDefault = (answer: unknown) => [prompt.default].flat().includes(answer);
  input.items = options.map((answer) => ({
    label: label(answer),
    answer,
    description: isDefault(answer) ? 'default' : '',
  }));
  input.placeholder = oneLine(prompt.context) || 'Escape hides it and leaves it open';
  const chosen = input.items.filter(({ description }) => description);
  const { answerType } = prompt;
  if (answerType.type !== 'multi_select') {
    // Without a default nothing is active: Enter alone says nothing then.
    input.activeItems = chosen;
    return settle(
      input,
      prompt,
      showing,
      () => input.selectedItems[0] && { value: input.selectedItems[0].answer },
    );
  }
  const { minimum = 0, maximum = answerType.options.length } = answerType;
  input.canSelectMany = true;
  input.selectedItems = chosen;
  input.placeholder = `Choose ${minimum} to ${maximum}. ${oneLine(prompt.context)}`;
  return settle(input, prompt, showing, () => {
    const value = input.selectedItems.map(({ answer }) => answer);
    if (value.length >= minimum && value.length <= maximum) return { value };
    // The typed filter hides the placeholder with the bounds.
    input.value = '';
    return undefined;
  });
}

function type(prompt: Prompt, showing: Showing): Shown {
  const input = vscode.window.createInputBox();
  input.password = prompt.answerType.type === 'secret';
  // Without a context, the line shows the expected answer.
  input.prompt = oneLine(prompt.context) || problem(prompt, '');
  input.ignoreFocusOut = true;
  if (typeof prompt.default === 'string' || typeof prompt.default === 'number')
    input.value = `${prompt.default}`;
  input.onDidChangeValue(
    (value) => (input.validationMessage = value ? problem(prompt, value) : undefined),
  );
  return settle(input, prompt, showing, () => {
    input.validationMessage = problem(prompt, input.value);
    return input.validationMessage ? undefined : { value: read(prompt.answerType, input.value) };
  });
}

/** The typed text as an answer; undefined if it does not fit. The server checks the format of a text. */
export function read(type: AnswerType, text: string): string | number | undefined {
  if (type.type === 'secret') return text || undefined;
  const { minimum = -Infinity, maximum = Infinity } = type as {
    minimum?: number;
    maximum?: number;
  };
  const isWithin = (count: number) => count >= minimum && count <= maximum;
  if (type.type !== 'number') return isWithin(Array.from(text).length) ? text : undefined;
  const value = text.trim() ? Number(text) : NaN;
  return Number.isFinite(value) && isWithin(value) && (!type.integer || Number.isInteger(value))
    ? value
    : undefined;
}

/** The reason why a typed text is not an answer. */
function problem({ answerType, expects }: Prompt, text: string): string | undefined {
  if (read(answerType, text) !== undefined) return undefined;
  return `Type ${expects ?? 'an answer'}.`;
}

const button = (icon: string, tooltip: string): vscode.QuickInputButton => ({
  iconPath: new vscode.ThemeIcon(icon),
  tooltip,
});
const SKIP = button('debug-step-over', 'Skip');
const DECLINE = button('circle-slash', 'Decline with a note');
const LEAVE_OUT = button('dash', 'Leave it out');
const REMEMBER = button('pin', 'Answer for the rest of this turn');
const REMEMBERED = button('pinned', 'Answer only this time');

/** Shows an input with the actions that all prompts have, and waits for what becomes of it. */
function settle(
  input: vscode.InputBox | vscode.QuickPick<Choice>,
  prompt: Prompt,
  showing: Showing,
  accept: () => { value?: unknown } | undefined,
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
    const done = (answer?: Answer | Shown) => {
      resolve(answer);
      input.dispose();
    };
    input.onDidHide(() => done());
    showing.over.onCancellationRequested(() => done());
    input.onDidAccept(() => {
      if (showing.sudden && Date.now() - shownAt < GRACE) return;
      const accepted = accept();
      if (accepted)
        done({ action: 'answer', answer: accepted.value, remember: remember || undefined });
    });
    input.onDidTriggerButton((pressed) => {
      if (pressed === SKIP) done({ action: 'cancel' });
      else if (pressed === LEAVE_OUT) done({ action: 'answer', answer: null });
      // The note's own box takes this one off the screen, which must not count as hidden.
      else if (pressed === DECLINE) done(declineWithNote());
      else {
        remember = !remember;
        title();
      }
    });
    input.show();
  });
}
