// Writes a TypeScript file in which every sample of tests/wire has to fit the type that the extension gives its method:
// node samples.mjs SAMPLES METHODS.json WIRE.ts OUT.ts
// Requests that the extension never sends have no type in it, and their samples are left out.
import fs from 'node:fs';
import path from 'node:path';

const [samples, table, wire, out] = process.argv.slice(2);
const types = fs.readFileSync(wire, 'utf8');
const all = JSON.parse(fs.readFileSync(table, 'utf8'));
const methods = all.filter(({ method, to }) => to !== 'server' || types.includes(`'${method}'`));
const unused = new Set(all.filter((it) => !methods.includes(it)).map(({ method }) => method));
const family = ({ kind, to }) => (to === 'server' ? 'ServerRequests' : kind === 'request' ? 'ClientRequests' : 'ClientNotifications');
const families = new Map(methods.map((it) => [it.method, family(it)]));
const lines = [`import type { Answer, Capability, ClientNotifications, ClientRequests, ServerRequests, Settings } from './wire';`];

// The methods are those of the table: all that the server sends, and of the others no more than there are.
for (const name of new Set(families.values())) {
  const members = [...families].filter(([, it]) => it === name).map(([method]) => `${JSON.stringify(method)}: true`);
  lines.push(`export const of${name}: Record<keyof ${name}, true> = { ${members.join(', ')} };`);
}

const files = fs.readdirSync(samples).filter((it) => it.endsWith('.json')).sort();
const read = (file) => JSON.parse(fs.readFileSync(path.join(samples, file), 'utf8'));
let checked = 0;
const check = (file, value, type) => {
  lines.push(`// ${file}`, `export const sample${checked++} = ${JSON.stringify(value)} satisfies ${type};`);
};

/** The request that a result belongs to: its file has the same beginning. */
const request = (file) => read(['', '-error'].map((it) => file.replace(`${it}-result.json`, '-request.json')).find((it) => it !== file && files.includes(it)));

function typeOf(file, message) {
  if (file.startsWith('answer-')) return 'Answer';
  const method = message.method ?? request(file).method;
  if (unused.has(method)) return 'unknown';
  const part = families.get(method) === 'ClientNotifications' ? '' : `[${message.method ? 0 : 1}]`;
  return families.has(method) && `${families.get(method)}['${method}']${part}`;
}

for (const file of files) {
  const message = read(file);
  if (message.error) continue;
  const type = typeOf(file, message);
  if (type === 'unknown') continue;
  if (type) check(file, message.params ?? message.result, type);
  else if (file === 'initialize-request.json') {
    check(file, message.params.capabilities.experimental.aside, 'Capability');
    check(file, message.params.initializationOptions, 'Settings');
  } else if (file === 'configuration-changed.json') check(file, message.params.settings.aside, 'Settings');
  else if (file !== 'initialize-result.json') throw new Error(`${file}: nobody knows its type`);
}
fs.writeFileSync(out, `${lines.join('\n')}\n`);
console.log(`${checked} samples`);
