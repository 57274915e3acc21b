// Writes the server's settings into package.json, from its own schema: node scripts/settings.mjs ASIDE [--check]
// With --check it only says, by its exit code, whether package.json has them as they are.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const [aside, mode] = process.argv.slice(2);
const schema = JSON.parse(execFileSync(aside, ['config', 'schema'], { encoding: 'utf8' }));
/** What starts a program, lets one out of its cage or names a key's place is never a workspace's to say. */
const MACHINE = /^(providers|mcp|commands|sandbox|unsandboxed|tls_roots)\b/;
/** Keywords that VS Code's settings editor knows. */
const KEYWORDS = ['type', 'default', 'minimum', 'maximum', 'minItems', 'items', 'pattern'];

function properties(table, prefix) {
  return Object.entries(table.properties).flatMap(([name, value]) => {
    const key = `${prefix}.${name}`;
    const isTable = value.properties && !value.anyOf && !(typeof value.additionalProperties === 'object');
    return isTable ? properties(value, key) : [[key, property(key, value)]];
  });
}

function property(key, value) {
  const made = Object.fromEntries(KEYWORDS.filter((word) => word in value).map((word) => [word, value[word]]));
  const choices = value.oneOf ?? [];
  if (choices.length > 0 && choices.every((choice) => 'const' in choice)) {
    Object.assign(made, { type: 'string', enum: choices.map((it) => it.const), markdownEnumDescriptions: choices.map((it) => it.description ?? '') });
  } else if (value.enum) {
    Object.assign(made, { enum: value.enum });
  } else if (!made.type) {
    const types = [...new Set((value.anyOf ?? choices).flatMap((it) => it.type ?? (it.oneOf || it.enum ? 'string' : [])))];
    made.type = types.length === 1 ? types[0] : types;
  }
  // The settings editor marks an empty box as wrong where a number has a minimum and may not be left out.
  if ('minimum' in made && !('default' in made)) Object.assign(made, { type: [made.type, 'null'].flat(), default: null });
  const scope = MACHINE.test(key.slice('aside.'.length)) ? 'machine' : 'window';
  return { ...made, scope, markdownDescription: value.description ?? '' };
}

const file = new URL('../package.json', import.meta.url);
const before = readFileSync(file, 'utf8');
const manifest = JSON.parse(before);
const groups = Object.entries(schema.properties).map(([name, value]) => {
  const made = properties({ properties: { [name]: value } }, 'aside');
  return { title: name[0].toUpperCase() + name.slice(1).replaceAll('_', ' '), properties: Object.fromEntries(made) };
});
const { contributes, capabilities } = manifest;
contributes.configuration = [contributes.configuration[0], ...groups];
capabilities.untrustedWorkspaces.restrictedConfigurations = contributes.configuration.flatMap((group) => Object.keys(group.properties));
const after = `${JSON.stringify(manifest, null, 2)}\n`;
if (mode === '--check' && after !== before) {
  console.error('package.json does not have the settings of this server; run: node scripts/settings.mjs ASIDE');
  process.exit(1);
}
if (mode !== '--check') writeFileSync(file, after);
