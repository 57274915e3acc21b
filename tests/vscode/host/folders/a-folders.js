const { ask, aside, assert, ended, fs, instead, path, run, says, test, until, vscode, withModal } = require('../kit');

const problems = vscode.languages.createDiagnosticCollection('test');
const [one, two] = vscode.workspace.workspaceFolders.map(({ uri }) => uri);
const at = (folder, name) => vscode.Uri.joinPath(folder, name);
const problem = (line, text) => new vscode.Diagnostic(new vscode.Range(line, 0, line, 1), text, vscode.DiagnosticSeverity.Warning);

test('a turn works in the folder of its file: paths, commands and what is mentioned are of that one', async () => {
  problems.set(at(one, 'notes.md'), [problem(0, 'of the first folder')]);
  problems.set(at(two, 'notes.md'), [problem(0, 'of the second folder'), problem(2, 'once more')]);
  const thread = await ask('Look where you are, and at @draft.md', at(two, 'notes.md'));
  const seen = [];
  await until('the end', async () => {
    if (aside().prompts.length) seen.push(...(await withModal('Run Once', () => run('aside.answerQuestion'))));
    return thread.label.startsWith('Aside: done');
  });
  for (const said of ['The draft is here.', 'The notes have problems.', 'The command ran here.']) await says(thread, said);
  assert.ok(seen.some(({ detail }) => detail.includes(`in ${two.fsPath}\n`)), JSON.stringify(seen));
});

test('in the other folder it is the other one', async () => {
  const thread = await ask('Look once more at @draft.md', at(one, 'notes.md'));
  await says(thread, 'It is the first draft.');
  await ended(thread);
});

test('MCP servers of all folders are listed, and one of several folders once', async () => {
  const server = (...args) => ({ command: 'python3', args: [path.join(process.env.ASIDE_MEDIA, '../mcp/server.py'), 'plain', ...args] });
  const settings = () => vscode.workspace.getConfiguration('aside');
  fs.writeFileSync(at(two, 'aside.toml').fsPath, `[mcp.servers.wheels]\ncommand = "python3"\nargs = ${JSON.stringify(server().args)}\n`);
  await settings().update('mcp.servers', { gears: server() }, vscode.ConfigurationTarget.Global);
  let labels;
  const pick = () => async (items) => void (labels = (await items).map(({ label }) => label.replace(/^\S+ /, '')));
  await instead('showQuickPick', pick, () => run('aside.showServers'));
  await settings().update('mcp.servers', undefined, vscode.ConfigurationTarget.Global);
  fs.rmSync(at(two, 'aside.toml').fsPath);
  assert.deepEqual(labels.sort(), ['gears', 'wheels']);
});
