const { accept, ask, aside, assert, body, ended, escape, instead, press, prompt, run, says, stopClock, test, textOf, turnTo, until, useServer } = require('../kit');

test('the server is another one as soon as the setting says so', () => useServer(process.env.ASIDE_ASKING));

const told = (thread, text) => says(thread, text).then(() => ended(thread));

test('a question waits in the status bar and the thread, and takes nothing', async () => {
  const thread = await ask('Ask me a boolean');
  const waiting = await prompt('Push it?');
  await until('its note', () => thread.comments.some((it) => it.promptId === waiting.promptId));
  assert.equal(aside().status, '$(question) Aside: 1 question');
  const note = thread.comments.at(-1);
  assert.deepEqual([note.author.name, note.contextValue], [waiting.label, 'question']);
  assert.match(body(note), /\*\*Push it\?\*\*[^]*two commits\non main/);
  assert.match(thread.label, /waits for you/);

  const input = await turnTo('pick');
  assert.deepEqual([input.title, input.placeholder], [`${waiting.label}: Push it?`, 'two commits · on main']);
  assert.deepEqual(input.items.map((it) => it.label), ['Yes', 'No']);
  await accept();
  await told(thread, 'I heard you.');
  assert.match(textOf(thread), /Push it\? → yes/);
  assert.deepEqual([aside().prompts, aside().status], [[], undefined]);
});

test('a select is answered with another option than the first', async () => {
  const thread = await ask('Ask me a select');
  await prompt('Which one?');
  const input = await turnTo('pick');
  await accept();
  assert.deepEqual([input.activeItems, aside().prompts.length], [[], 1], 'without a default, Enter alone says nothing');
  for (const option of ['one', 'two']) {
    await run('workbench.action.quickOpenSelectNext');
    await until(`the option ${option}`, () => input.activeItems[0]?.label === option);
  }
  await accept();
  await told(thread, 'I heard you.');
  assert.match(textOf(thread), /Which one\? → two/);
});

test('several are chosen, within their bounds', async () => {
  const thread = await ask('Ask me many');
  await prompt('Which parts?');
  await says(thread, '- terminal');
  const input = await turnTo('pick');
  assert.match(input.placeholder, /^Choose 1 to 2\./);
  input.value = 'e';
  await accept();
  await until('the refusal', () => input.value === '');
  assert.equal(aside().prompts.length, 1);
  await until('the answer', async () => {
    input.selectedItems = [input.items[0], input.items[2]];
    await new Promise((resolve) => setTimeout(resolve, 50));
    await accept();
    return aside().prompts.length === 0;
  });
  await told(thread, 'I heard you.');
  assert.match(textOf(thread), /Which parts\? → editor, server/);
});

test('a number that does not fit is not sent', async () => {
  const thread = await ask('Ask me a number');
  await prompt('How severe?');
  const input = await turnTo('text');
  assert.equal(input.prompt, 'Type a whole number between 1 and 5.');
  for (const wrong of ['six', '6', '2.5', '']) {
    input.value = wrong;
    input.validationMessage = undefined;
    await accept();
    await until(`the refusal of “${wrong}”`, () => input.validationMessage === 'Type a whole number between 1 and 5.');
  }
  input.value = '4';
  await accept();
  await told(thread, 'I heard you.');
  assert.match(textOf(thread), /How severe\? → 4/);
});

test('a text has its default, and may be another', async () => {
  const thread = await ask('Ask me a text');
  await prompt('What name?');
  const input = await turnTo('text');
  assert.deepEqual([input.value, input.password], ['tidy', false]);
  input.value = 'für all 🥛';
  await accept();
  await told(thread, 'I heard you.');
  assert.match(textOf(thread), /What name\? → für all 🥛/);
});

test('a secret is hidden while it is typed, and nowhere afterwards', async () => {
  const thread = await ask('Ask me a secret');
  await prompt('Your password?');
  const input = await turnTo('text');
  assert.equal(input.password, true);
  input.value = 'hunter2 "quoted"';
  await accept();
  await told(thread, 'I heard you.');
  assert.match(textOf(thread), /Your password\? → a secret/);
  assert.ok(!textOf(thread).includes('hunter2'));
});

test('a question that is hidden stays open, and the status bar shows it again', async () => {
  const thread = await ask('Ask me a boolean once more');
  await prompt('Push it?');
  const first = await turnTo('pick');
  await escape();
  await until('it is hidden', () => first.hidden);
  assert.equal(aside().prompts.length, 1);
  const again = await turnTo('pick');
  assert.match(again.title, /: Push it\?$/);
  await accept();
  await told(thread, 'I heard you.');
});

test('a refusal carries its note to the model', async () => {
  const thread = await ask('Ask me a select, but I decline');
  await prompt('Which one?');
  const input = await turnTo('pick');
  await instead('showInputBox', () => () => Promise.resolve('Use the other file.'), async () => press(input, 'Decline with a note'));
  await told(thread, 'You told me of the other file.');
});

test('a question is skipped', async () => {
  const thread = await ask('Ask me a text that I skip');
  await prompt('What name?');
  press(await turnTo('text'), 'Skip');
  await told(thread, 'You skipped it.');
  assert.match(textOf(thread), /What name\? → no answer \\\(you\\\)$/m);
});

test('an answer is left out, where it may be', async () => {
  const thread = await ask('Ask me what may be left out');
  await prompt('What else?');
  press(await turnTo('text'), 'Leave it out');
  await told(thread, 'I heard you.');
});

test('an answer holds for the rest of the turn: the same question is not asked again', async () => {
  const thread = await ask('Ask me twice the same');
  await prompt('All of it?');
  const input = await turnTo('pick');
  press(input, 'Answer for the rest of this turn');
  assert.match(input.title, / – for the rest of this turn$/);
  press(input, 'Answer only this time');
  press(input, 'Answer for the rest of this turn');
  await run('workbench.action.quickOpenSelectNext');
  await until('its first choice', () => input.activeItems[0]?.label === 'Yes');
  await accept();
  await told(thread, 'I was told twice.');
  assert.match(textOf(thread), /All of it\? → yes \\\(remembered\\\)/);
});

test('several come one after another, with their position', async () => {
  const thread = await ask('Ask me three');
  await until('three prompts', () => aside().prompts.length === 3);
  assert.equal(aside().status, '$(question) Aside: 3 questions');
  const inputs = [];
  const watch = (real) => () => {
    const input = real();
    const show = input.show.bind(input);
    input.show = () => (show(), inputs.push(input));
    return input;
  };
  await instead('createQuickPick', watch, () => stopClock(async (pass) => {
    void run('aside.answerQuestion');
    for (let n = 1; n <= 3; n++) {
      const input = await until(`question ${n}`, () => inputs[n - 1]);
      await run('workbench.action.quickOpenSelectNext');
      await until('its first choice', () => input.activeItems[0]?.label === 'Yes');
      if (n > 1) {
        await accept();
        assert.equal(aside().prompts.length, 4 - n, 'a key that is pressed twice answers one question');
        pass(500);
      }
      await accept();
      await until(`answer ${n}`, () => aside().prompts.length === 3 - n);
    }
  }));
  await told(thread, 'I heard you.');
  assert.deepEqual(inputs.map(({ title }) => title.slice(title.indexOf(' ('))), [' (1 of 3): Red?', ' (2 of 3): Green?', ' (3 of 3): Blue?']);
});
