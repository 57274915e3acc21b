// Runs the tests of this folder inside the extension host, and writes a line for each into the file RESULT.
const fs = require('node:fs');
const path = require('node:path');

const { closeAll, complaints, debugInformation, tests, until, vscode } = require('./kit');

/** No test takes longer; one that does is a failure, and the others still run. */
const LIMIT = 180_000;

exports.run = async () => {
  const file = process.env.ASIDE_TEST_RESULT;
  const tell = (line) => fs.appendFileSync(file, `${line}\n`);
  try {
    const lane = path.join(__dirname, process.env.ASIDE_TEST_LANE);
    const withAside = !lane.endsWith('without');
    if (withAside) await (await until('the extension', () => vscode.extensions.getExtension('aside.aside'), 60_000)).activate();
    for (const name of fs.readdirSync(lane).sort()) require(path.join(lane, name));
    const only = process.env.ASIDE_TEST_ONLY.split('|');
    for (const { name, run } of tests.filter((it) => only.some((part) => it.name.includes(part)))) {
      const begun = Date.now();
      let timer;
      const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`it took more than ${LIMIT} ms`)), LIMIT)));
      try {
        const notes = await Promise.race([run(), late]);
        if (complaints.length) throw new Error(`the extension complained: ${complaints}`);
        tell(`ok ${name} (${Date.now() - begun} ms)${notes ? ` # ${notes}` : ''}`);
      } catch (error) {
        const also = withAside ? `\n${await debugInformation().catch(String)}` : '';
        tell(`not ok ${name}\n${`${error.stack}${also}`.replace(/^/gm, '    ')}`);
      }
      clearTimeout(timer);
      complaints.length = 0;
      if (withAside) await closeAll().catch((error) => tell(`not ok cleaning up after ${name}: ${error}`));
    }
  } catch (error) {
    tell(`not ok the run\n${String(error.stack).replace(/^/gm, '    ')}`);
  }
  tell('end');
};
