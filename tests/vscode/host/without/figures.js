const { show, test } = require('../kit');
const { late, slip, times, told } = require('../figures');

test('how late a timer of 10 ms is in a host without Aside while VS Code loads what it has for the first markdown', async () => {
  const all = await late(async () => {
    await show('notes.md');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  });
  return `\n#   most ${Math.max(...all).toFixed(0)} ms; an answer that comes then stops, too`;
});

test('how late a timer of 10 ms is in a host without Aside', async () => {
  const all = await times(7, () => slip(() => new Promise((resolve) => setTimeout(resolve, 2_000))));
  return `\n#   p99: ${told(all)}`;
});
