// What the tests inside the extension host share: waiting with a deadline, and the person's hands.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');

const DEADLINE = 120_000;
const tests = [];

/** A test of its own name; they run in the order in which they are written. */
const test = (name, run) => tests.push({ name, run });

/** Waits until `probe` gives something, and gives that. */
async function until(what, probe, deadline = DEADLINE) {
  const end = performance.now() + deadline;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (performance.now() > end) throw new Error(`${what} did not come about within ${deadline} ms; ${JSON.stringify(state())}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** What the extension complained of; a test that expects a complaint takes it out. */
const complaints = [];
const realError = vscode.window.showErrorMessage;
vscode.window.showErrorMessage = (message, ...more) => (complaints.push(message), realError(message, ...more));

/** Takes out what the extension says where a provider rejects the key or the model. */
const isRejected = async () => {
  await until('the complaint', () => complaints.length);
  assert.match(complaints.join(), /^Aside: [^,]* the key or the model is rejected; choose another with --model$/);
  complaints.length = 0;
};

const aside = () => {
  const { status, threads, prompts, shown } = vscode.extensions.getExtension('aside.aside').exports ?? {};
  return { status: status?.(), threads: threads?.(), prompts: prompts?.(), shown: shown?.() };
};
const root = () => vscode.workspace.workspaceFolders[0].uri;
const uri = (name) => (typeof name === 'string' ? vscode.Uri.joinPath(root(), name) : name);
const read = (name) => fs.readFileSync(uri(name).fsPath, 'utf8');
const run = (command, ...args) => vscode.commands.executeCommand(command, ...args);

const body = (comment) => (typeof comment.body === 'string' ? comment.body : comment.body.value);
const textOf = (thread) => thread.comments.map(body).join('\n');

function state() {
  const { status, prompts, threads } = aside();
  return { complaints, status, prompts: prompts?.map(({ text }) => text), threads: threads?.map((it) => [it.label, textOf(it).slice(-400)]) };
}

async function show(name, text) {
  // A file that is written for nothing is newer than the editor knows for a while, and cannot be saved by it.
  if (text !== undefined && read(name) !== text) fs.writeFileSync(uri(name).fsPath, text);
  const document = await vscode.workspace.openTextDocument(uri(name));
  await until(`${name} as it is on disk`, () => text === undefined || document.getText() === text);
  return vscode.window.showTextDocument(document, { preview: false });
}

/** Asks in a file, at a line; gives the thread. */
async function ask(message, name = 'notes.md', line = 0) {
  // Whoever moves the cursor is not in a thread, so nothing comes up by itself.
  const editor = await show(name);
  const to = new vscode.Position(editor.selection.active.line === 1 ? 2 : 1, 0);
  const moved = new Promise((resolve) => {
    const listening = vscode.window.onDidChangeTextEditorSelection(() => resolve(listening.dispose()));
  });
  editor.selection = new vscode.Selection(to, to);
  await moved;
  const before = new Set(aside().threads);
  await run('aside.ask', { uri: uri(name), range: new vscode.Range(line, 0, line, 0), message });
  return until('a thread', () => aside().threads.find((it) => !before.has(it)));
}

const ended = (thread, how = 'done') => until(`the end of “${thread.label}”`, () => thread.label.startsWith(`Aside: ${how}`));
const says = (thread, text) => until(`“${text}” in the thread`, () => (text.test ? text.test(textOf(thread)) : textOf(thread).includes(text)));
const prompt = (text) => until(`the prompt “${text}”`, () => aside().prompts.find((it) => it.text.includes(text)));

/** Puts something in place of a member of `vscode.window`, as long as `during` runs. */
async function instead(name, replacement, during) {
  const real = vscode.window[name];
  vscode.window[name] = replacement(real);
  try {
    return await during();
  } finally {
    vscode.window[name] = real;
  }
}

/** The time that the extension reads stands still as long as `during` runs, but for the milliseconds that it passes. */
async function stopClock(during) {
  const { now } = Date;
  let stands = now();
  Date.now = () => stands;
  try {
    return await during((milliseconds) => (stands += milliseconds));
  } finally {
    Date.now = now;
  }
}

/** Turns to the prompts, and gives the input that is shown. */
async function turnTo(kind, argument) {
  const name = kind === 'text' ? 'createInputBox' : 'createQuickPick';
  let made;
  const caught = (real) => () => {
    const input = real();
    const show = input.show.bind(input);
    input.hidden = false;
    input.onDidHide(() => (input.hidden = true));
    input.triggers = [];
    const listen = input.onDidTriggerButton;
    Object.defineProperty(input, 'onDidTriggerButton', { value: (listener) => (input.triggers.push(listener), listen(listener)) });
    input.show = () => (show(), (made = input));
    return input;
  };
  return instead(name, caught, async () => {
    void run('aside.answerQuestion', argument);
    return until('an input', () => made);
  });
}

/** Accepts what is chosen or typed, by the command that Enter runs. */
const accept = () => run('workbench.action.acceptSelectedQuickOpenItem');
const escape = () => run('workbench.action.closeQuickOpen');
const press = (input, tooltip) => {
  const button = input.buttons.find((it) => it.tooltip === tooltip);
  assert.ok(button, `a button “${tooltip}”`);
  input.triggers.forEach((listener) => listener(button));
};

/** Answers modal messages by the titles of their buttons, and gives what they said. */
async function withModal(answer, during) {
  const seen = [];
  const replacement = (real) => (message, options, ...buttons) => {
    if (!options?.modal) return real(message, options, ...buttons);
    seen.push({ message, detail: options.detail, buttons });
    // One that follows another takes no answer at once.
    return new Promise((resolve) => setTimeout(resolve, seen.length > 1 ? 600 : 0, answer));
  };
  await instead('showWarningMessage', replacement, during);
  return seen;
}

const debugInformation = () => run('aside.copyDebugInformation').then(() => vscode.env.clipboard.readText());

/** Starts another server by the user's setting. */
async function useServer(file) {
  await vscode.workspace.getConfiguration('aside').update('server.path', file, vscode.ConfigurationTarget.Global);
  await until(file, async () => (await debugInformation()).includes(`${file} (setting); running`));
}

async function closeAll() {
  await escape();
  for (const { promptId } of aside().prompts) await run('aside.skipQuestion', { promptId });
  await until('the end of all turns', () => aside().status === undefined);
  for (const thread of aside().threads) await run('aside.closeThread', thread);
  for (const document of vscode.workspace.textDocuments) if (document.isDirty) await vscode.window.showTextDocument(document).then(() => run('workbench.action.files.revert'));
  await run('workbench.action.closeAllEditors');
}

module.exports = { accept, ask, aside, assert, body, closeAll, complaints, debugInformation, ended, escape, fs, instead, isRejected, path, press, prompt, read, root, run, says, show, stopClock, test, tests, textOf, turnTo, until, uri, useServer, vscode, withModal };
