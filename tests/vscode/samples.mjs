// Writes a TypeScript file in which every sample of tests/wire has to fit the type that the extension gives its method:
// node samples.mjs SAMPLES METHODS.json OUT.ts
import fs from 'node:fs';
import path from 'node:path';

const [samples, table, out] = process.argv.slice(2);
const methods = JSON.parse(fs.readFileSync(table, 'utf8'));
const family = ({ kind, to }) => (to === 'server' ? 'ServerRequests' : kind === 'request' ? 'ClientRequests' : 'ClientNotifications');
const families = new Map(methods.map((it) => [it.method, family(it)]));
const lines = [`import type { Answer, Capability, ClientNotifications, ClientRequests, ServerRequests, Settings } from './wire';`];

// The methods are those of the table, no more and no less.
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

/** The type of a message, or of the result of the request that the file's name begins with. */
function typeOf(file, message) {
  if (message.method) {
    const of = families.get(message.method);
    return of && `${of}['${message.method}']${of === 'ClientNotifications' ? '' : '[0]'}`;
  }
  if (file.startsWith('answer-')) return 'Answer';
  const request = ['', '-error'].map((it) => file.replace(`${it}-result.json`, '-request.json')).find((it) => it !== file && files.includes(it));
  const { method } = read(request);
  return families.has(method) && `${families.get(method)}['${method}'][1]`;
}

for (const file of files) {
  const message = read(file);
  if (message.error) continue;
  const type = typeOf(file, message);
  if (type) check(file, message.params ?? message.result, type);
  else if (file === 'initialize-request.json') {
    check(file, message.params.capabilities.experimental.aside, 'Capability');
    check(file, message.params.initializationOptions, 'Settings');
  } else if (file === 'configuration-changed.json') check(file, message.params.settings.aside, 'Settings');
  else if (file !== 'initialize-result.json') throw new Error(`${file}: nobody knows its type`);
}
fs.writeFileSync(out, `${lines.join('\n')}\n`);
console.log(`${checked} samples`);
