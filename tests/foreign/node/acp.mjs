// A client on the Agent Client Protocol's own SDK, and the person in front of it. Each message is checked against the schema
// that comes with the SDK. Nothing here waits by sleeping.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';

// The packages are not installed beside this file.
const require = createRequire(join(process.env.FOREIGN_NODE, 'package.json'));
const acp = await import(pathToFileURL(join(process.env.FOREIGN_NODE, 'node_modules/@agentclientprotocol/sdk/dist/v1/unstable/acp.js')));
const { default: Ajv } = require('ajv/dist/2020.js');
const GIVEN = fileURLToPath(new URL('../given', import.meta.url));

// What fork and set_title are checked against; all else is checked against the stable schema.
const UNSTABLE = ['session/fork', 'session/set_title'];
const schemas = [false, true].map((unstable) =>
  require(`@agentclientprotocol/sdk/schema/v1/schema${unstable ? '.unstable' : ''}.json`));
const validators = schemas.map((schema) => {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema(schema, 'acp');
  return ajv;
});
const definition = (schema, method, isResponse) => Object.entries(schema.$defs)
  .find(([name, it]) => it['x-method'] === method && name.endsWith('Response') === isResponse)?.[0];

export class Client {
  // What came of each session, in the order in which it came.
  updates = [];
  // What the person was asked: `[method, params]`.
  asked = [];
  invalid = [];
  #open = new Map();
  #came = 0;

  constructor(person) {
    this.person = person;
    this.folder = mkdtempSync(join(tmpdir(), 'aside-acp-'));
    this.workspace = join(this.folder, 'workspace');
    cpSync(join(GIVEN, 'workspace'), this.workspace, { recursive: true });
    for (const name of ['home', 'config/aside', 'state']) mkdirSync(join(this.folder, name), { recursive: true });
    const script = join(GIVEN, 'scripts/acp.toml');
    writeFileSync(join(this.folder, 'config/aside/aside.toml'), `assistant.model = 'rehearsal/${script}'\n`);
    this.env = {
      PATH: process.env.PATH, HOME: join(this.folder, 'home'), XDG_CONFIG_HOME: join(this.folder, 'config'),
      XDG_STATE_HOME: join(this.folder, 'state'), ASIDE_SANDBOX: 'off',
    };
    const trusted = spawnSync(process.env.ASIDE, ['trust', '--yes'], { cwd: this.workspace, env: this.env });
    assert.equal(trusted.status, 0, String(trusted.stderr));
  }

  #check(toAgent, line) {
    const message = JSON.parse(line);
    if (message.method === 'session/update') this.#came += 1;
    const key = (side) => `${side}${JSON.stringify(message.id)}`;
    if (message.method && message.id !== undefined) this.#open.set(key(toAgent), message.method);
    const method = message.method ?? this.#open.get(key(!toAgent));
    const which = Number(UNSTABLE.includes(method));
    const name = message.error ? 'Error' : definition(schemas[which], method, !message.method);
    const value = message.method ? message.params ?? {} : message.error ?? message.result ?? {};
    // What the client says is the SDK's affair.
    if (!toAgent && name && !validators[which].validate(`acp#/$defs/${name}`, value)) {
      this.invalid.push(`${name}: ${line.slice(0, 400)}`);
    }
  }

  #tap(toAgent) {
    let rest = '';
    return new Transform({
      transform: (chunk, _, done) => {
        rest += chunk;
        for (let end; (end = rest.indexOf('\n')) >= 0; rest = rest.slice(end + 1)) this.#check(toAgent, rest.slice(0, end));
        done(null, chunk);
      },
    });
  }

  async use(capabilities, play) {
    const child = spawn(process.env.ASIDE, ['acp'], { cwd: this.workspace, env: this.env, stdio: ['pipe', 'pipe', 'inherit'] });
    const [to, from] = [this.#tap(true), this.#tap(false)];
    to.pipe(child.stdin);
    child.stdout.pipe(from);
    const M = acp.methods;
    const ask = (method) => ({ params, signal }) => {
      this.asked.push([method, params]);
      return this.person(method, params, signal);
    };
    await acp.client({ name: 'foreign' })
      .onRequest(M.client.session.requestPermission, ask('permission'))
      .onRequest(M.client.elicitation.create, ask('form'))
      .onNotification(M.client.session.update, ({ params }) => { this.updates.push(params); })
      .connectWith(acp.ndJsonStream(Writable.toWeb(to), Readable.toWeb(from)), async (connection) => {
        const request = (method, params) => connection.request(method, params);
        this.notify = (method, params) => connection.notify(method, params);
        this.request = request;
        this.initialized = await request(M.agent.initialize, { protocolVersion: 1, clientCapabilities: capabilities });
        await play(this, M.agent);
      });
    child.kill();
    assert.deepEqual(this.invalid, []);
  }

  session() {
    return this.request('session/new', { cwd: this.workspace, mcpServers: [] });
  }

  async prompt(sessionId, text) {
    const result = await this.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
    // In this SDK a response overtakes the handlers of the updates before it.
    while (this.updates.length < this.#came) await new Promise((resolve) => setImmediate(resolve));
    return result;
  }

  // The words of a session's agent.
  said(sessionId) {
    const chunks = this.updates.filter((it) => it.sessionId === sessionId && it.update.sessionUpdate === 'agent_message_chunk');
    return chunks.map((it) => it.update.content.text).join('');
  }

  has(file) {
    return existsSync(join(this.workspace, file));
  }

  read(file) {
    return readFileSync(join(this.workspace, file), 'utf8');
  }

  end() {
    rmSync(this.folder, { recursive: true });
  }
}

export const FORMS = { elicitation: { form: {} }, session: { configOptions: { boolean: {} }, notices: {} } };

export const choose = (optionId) => ({ outcome: { outcome: 'selected', optionId } });

// A test of a client with these capabilities, for whom this person answers.
export function withClient(capabilities, person, play) {
  return async () => {
    const client = new Client(person);
    try {
      await client.use(capabilities, play);
    } finally {
      client.end();
    }
  };
}
