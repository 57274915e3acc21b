// An editor and the person in front of it, on Microsoft's client. Nothing here waits by sleeping.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

// The packages are not installed beside this file.
const require = createRequire(join(process.env.FOREIGN_NODE, 'package.json'));
export const lsp = require('vscode-languageserver-protocol/node');
const { TextDocument } = require('vscode-languageserver-textdocument');

const GIVEN = fileURLToPath(new URL('../given', import.meta.url));
// Milliseconds that a message may take before a test gives up on it.
const LONG = 20_000;
// Messages that are noted and no more.
const NOTED = [
  'aside/turn/update', 'aside/turn/completed', 'aside/conversation/changed', 'aside/status',
  'window/showMessage', 'window/logMessage',
];

// Gives the ids of requests too, which the client keeps to itself.
class Reader extends lsp.StreamMessageReader {
  ids = new Map();

  listen(callback) {
    return super.listen((message) => {
      if (message.method === 'aside/prompt') this.ids.set(message.params.promptId, message.id);
      callback(message);
    });
  }
}

export class Editor {
  // What came, in the order in which it came: `[method, params]`.
  seen = [];
  documents = new Map();
  // What the person is about to answer, on a page: question and answer.
  toAnswer = new Map();
  // What the person leaves open, by prompt or message: how to reply after all.
  leftOpen = new Map();
  waiting = new Set();

  // Starts the program, by the name of its variable, in a place of its own.
  constructor(program) {
    this.folder = mkdtempSync(join(tmpdir(), 'aside-foreign-'));
    this.workspace = join(this.folder, 'workspace');
    cpSync(join(GIVEN, 'workspace'), this.workspace, { recursive: true });
    this.program = process.env[program];
    this.env = { PATH: process.env.PATH, HOME: this.folder, XDG_STATE_HOME: join(this.folder, 'state') };
    const complaints = openSync(join(this.folder, 'complaints'), 'a');
    this.server = spawn(this.program, ['lsp', '--stdio'], { env: this.env, stdio: ['pipe', 'pipe', complaints] });
    closeSync(complaints);
    this.ended = new Promise((resolve) => this.server.once('exit', (code, signal) => resolve(code ?? signal)));
    this.reader = new Reader(this.server.stdout);
    this.writer = new lsp.StreamMessageWriter(this.server.stdin);
    this.connection = lsp.createProtocolConnection(this.reader, this.writer);
    this.#listen();
  }

  // `answers` is what the person says, by the text of the question; other questions are left alone.
  async initialize({ script, knowsAside, answers = {}, mode = 'ask' }) {
    this.answers = answers;
    const model = `rehearsal/${join(GIVEN, 'scripts', script)}`;
    if (!knowsAside) this.#configure(model, mode);
    const uri = pathToFileURL(this.workspace).href;
    const aside = { version: 1, prompt: true, secret: true, save: true, tools: [] };
    const result = await this.#within('initialize', this.connection.sendRequest(lsp.InitializeRequest.type, {
      processId: process.pid,
      rootUri: uri,
      workspaceFolders: [{ uri, name: 'workspace' }],
      capabilities: {
        workspace: { applyEdit: true, workspaceEdit: { documentChanges: true } },
        window: { showDocument: { support: true }, workDoneProgress: true },
        ...(knowsAside && { experimental: { aside } }),
      },
      initializationOptions: {
        trusted: true,
        config: {
          assistant: { model },
          conversation: { mode },
        },
      },
    }));
    assert.equal(result.capabilities.positionEncoding ?? 'utf-16', 'utf-16');
    assert.equal(result.capabilities.experimental.aside.version, 1);
    await this.connection.sendNotification(lsp.InitializedNotification.type, {});
  }

  // The word of a client that knows nothing of Aside counts as the workspace's, so the user names the model and trusts the
  // workspace.
  #configure(model, mode) {
    const settings = join(this.folder, '.config', 'aside');
    mkdirSync(settings, { recursive: true });
    writeFileSync(join(settings, 'aside.toml'), `assistant.model = '${model}'\nconversation.mode = '${mode}'\n`);
    const { status, stderr } = spawnSync(process.env.ASIDE, ['trust', '--yes'], { cwd: this.workspace, env: this.env });
    assert.equal(status, 0, String(stderr));
  }

  // What comes from the server.

  #listen() {
    const { connection } = this;
    for (const method of NOTED) connection.onNotification(method, (params) => this.note(method, params));
    connection.onNotification('aside/prompt/dismiss', (params) => this.#onDismiss(params));
    connection.onRequest('aside/prompt', (params) => this.#onPrompt(params));
    connection.onRequest('aside/document/save', (params) => this.#onSave(params));
    connection.onRequest(lsp.ShowMessageRequest.type, (params) => this.#onMessage(params));
    connection.onRequest(lsp.ShowDocumentRequest.type, (params) => this.#onShow(params));
    connection.onRequest(lsp.ApplyWorkspaceEditRequest.type, (params) => this.#onEdit(params));
    connection.onRequest(lsp.WorkDoneProgressCreateRequest.type, ({ token }) => {
      this.note('window/workDoneProgress/create', token);
      connection.onProgress(lsp.WorkDoneProgress.type, token, (value) => this.note('$/progress', value));
    });
    connection.listen();
  }

  note(method, params) {
    this.seen.push([method, params]);
    for (const look of this.waiting) look(method, params);
  }

  #onPrompt(prompt) {
    this.note('aside/prompt', prompt);
    if (prompt.kind === 'runTool') return { action: 'answer', answer: 'once' };
    const answer = this.answers[prompt.text];
    return answer === undefined ? this.#leaveOpen(prompt.promptId) : { action: 'answer', answer };
  }

  #leaveOpen(name) {
    return new Promise((resolve) => this.leftOpen.set(name, resolve));
  }

  // A prompt that was left open is closed on the screen, unless a test has other plans with it.
  #onDismiss(params) {
    this.note('aside/prompt/dismiss', params);
    if (!this.keepsDismissed) this.leftOpen.get(params.promptId)?.({ action: 'cancel' });
  }

  #onMessage(params) {
    this.note('window/showMessageRequest', params);
    const titles = params.actions.map((action) => action.title);
    if (titles[0] === 'Review…') {
      assert.deepEqual(titles, ['Review…', 'No']);
      return { title: 'Review…' };
    }
    assert.deepEqual(titles, ['Later', 'Answer…']);
    const question = Object.keys(this.answers).find((text) => params.message.endsWith(text));
    if (question === undefined) return this.#leaveOpen(params.message);
    this.toAnswer.set(question, this.answers[question]);
    return { title: 'Answer…' };
  }

  async #onShow({ uri }) {
    const path = fileURLToPath(uri);
    const text = readFileSync(path, 'utf8');
    const question = [...this.toAnswer.keys()].find((asked) => text.includes(asked));
    const answer = this.toAnswer.get(question) ?? 'Run once';
    this.toAnswer.delete(question);
    this.note('window/showDocument', text);
    // After the response: before, nobody can say that it was seen.
    if (text.includes('Answer with a code action')) setImmediate(() => this.#take(uri, answer));
    else if (question !== undefined) {
      writeFileSync(path, `${text}${answer}\n`);
      await this.#saved(uri);
    }
    return { success: true };
  }

  // The person takes a code action on a page: an answer, or to let a call run.
  async #take(uri, wanted) {
    const start = { line: 0, character: 0 };
    const actions = await this.request('textDocument/codeAction', {
      textDocument: { uri }, range: { start, end: start }, context: { diagnostics: [] },
    });
    const taken = actions.find(({ title }) => title === `Aside: ${wanted}`);
    const { command, arguments: given } = typeof taken.command === 'string' ? taken : taken.command;
    await this.request('workspace/executeCommand', { command, arguments: given });
  }

  // The reply goes out before the notification of the change; other clients do it the other way round.
  #onEdit(params) {
    this.note('workspace/applyEdit', params);
    for (const { textDocument, edits } of params.edit.documentChanges) {
      const document = this.documents.get(textDocument.uri);
      if (textDocument.version !== document.version) return { applied: false, failureReason: 'another version' };
      setImmediate(() => this.#change(document, edits));
    }
    return { applied: true };
  }

  async #onSave(params) {
    this.note('aside/document/save', params);
    const document = this.documents.get(params.uri);
    writeFileSync(fileURLToPath(params.uri), document.getText());
    await this.#saved(params.uri);
    return {};
  }

  #saved(uri) {
    return this.connection.sendNotification(lsp.DidSaveTextDocumentNotification.type, { textDocument: { uri } });
  }

  // What the person does.

  uri(name) {
    return pathToFileURL(join(this.workspace, name)).href;
  }

  open(name) {
    const uri = this.uri(name);
    this.documents.set(uri, TextDocument.create(uri, 'markdown', 1, this.file(name)));
    const textDocument = { uri, languageId: 'markdown', version: 1, text: this.file(name) };
    this.connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, { textDocument });
  }

  typeAtEnd(name, newText) {
    const document = this.documents.get(this.uri(name));
    const end = document.positionAt(document.getText().length);
    this.#change(document, [{ range: { start: end, end }, newText }]);
  }

  // All edits are of the text before; from the last to the first, none moves another.
  #change(document, edits) {
    const offset = (edit) => document.offsetAt(edit.range.start);
    const lastFirst = [...edits].sort((a, b) => offset(b) - offset(a));
    const contentChanges = lastFirst.map(({ range, newText }) => ({ range, text: newText }));
    const version = document.version + 1;
    TextDocument.update(document, contentChanges, version);
    const textDocument = { uri: document.uri, version };
    this.connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, { textDocument, contentChanges });
  }

  buffer(name) {
    return this.documents.get(this.uri(name)).getText();
  }

  file(name) {
    return readFileSync(join(this.workspace, name), 'utf8');
  }

  request(method, params) {
    return this.#within(method, this.connection.sendRequest(method, params));
  }

  command(command, argument) {
    const params = { command, arguments: [argument] };
    return this.#within(command, this.connection.sendRequest(lsp.ExecuteCommandRequest.type, params));
  }

  // Messages that are still on the screen are closed with it. Gives how the server ended.
  async close() {
    for (const reply of this.leftOpen.values()) reply(null);
    await this.#within('shutdown', this.connection.sendRequest(lsp.ShutdownRequest.type));
    await this.connection.sendNotification(lsp.ExitNotification.type);
    const code = await this.#within('the end', this.ended);
    this.connection.dispose();
    const complaints = readFileSync(join(this.folder, 'complaints'), 'utf8');
    assert.equal(complaints, '', 'the server has nothing to complain of');
    return code;
  }

  // Ends a server that a failed test left behind, and takes its place away.
  abandon() {
    this.server.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  // What was seen.

  all(method) {
    return this.seen.filter(([seen]) => seen === method).map(([, params]) => params);
  }

  // The first message for which `fits(method, params)` holds, now or later.
  until(what, fits) {
    const found = this.seen.find(([method, params]) => fits(method, params));
    if (found) return Promise.resolve(found[1]);
    let look;
    const came = new Promise((resolve) => {
      look = (method, params) => fits(method, params) && resolve(params);
      this.waiting.add(look);
    });
    return this.#within(what, came).finally(() => this.waiting.delete(look));
  }

  completed(turnId) {
    return this.until(`the end of ${turnId}`, (method, params) =>
      method === 'aside/turn/completed' && params.turnId === turnId);
  }

  updates(turnId, kind) {
    const ofTurn = this.all('aside/turn/update').filter((params) => params.turnId === turnId);
    return ofTurn.map((params) => params.update).filter((update) => update.kind === kind);
  }

  #within(what, promise) {
    let timer;
    const late = new Promise((_, reject) => {
      const seen = () => JSON.stringify(this.seen.slice(-20), null, 1);
      timer = setTimeout(() => reject(new Error(`${what} did not come, but last ${seen()}`)), LONG);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
  }
}

// Runs a test with an editor that is closed, and its server ended by itself, after it.
export function withEditor(options, play) {
  return async () => {
    const editor = new Editor(options.program ?? 'ASIDE');
    try {
      await editor.initialize(options);
      await play(editor);
      assert.equal(await editor.close(), 0);
    } finally {
      editor.abandon();
    }
  };
}
