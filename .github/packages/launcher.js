#!/usr/bin/env node
// Starts the program that npm installed beside this package, for this system.
'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { name, version, optionalDependencies } = require('./package.json');

const system = `${process.platform}-${process.arch}`;
const platform = `${name}-${system}`;

function fail(message) {
  console.error(`aside: ${message}`);
  process.exit(1);
}

function program() {
  if (!(platform in optionalDependencies)) {
    const built = Object.keys(optionalDependencies).map((it) => it.slice(name.length + 1));
    fail(`there is no package for ${system}, only for ${built.join(', ')}; build Aside from its source.`);
  }
  try {
    return require.resolve(`${platform}/bin/${process.platform === 'win32' ? 'aside.exe' : 'aside'}`);
  } catch {
    fail(
      `the package ${platform} with the program is not installed, as after --omit=optional or with a lock file of ` +
        `another system; run \`npm install --include=optional ${name}@${version}\`, with -g if this one was installed so.`,
    );
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => fail(`the program of ${platform} did not start: ${error.message}; install it again.`));

/** Whether a terminal, or the console of Windows, sends its signals here. */
function hasTerminal() {
  if (process.platform === 'win32') return true;
  try {
    fs.closeSync(fs.openSync('/dev/tty'));
    return true;
  } catch {
    return false;
  }
}

// A terminal sends these to the program too, and twice would mean something else. Where there is none, nobody else does.
for (const signal of ['SIGINT', 'SIGQUIT']) process.on(signal, () => hasTerminal() || child.kill(signal));
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
