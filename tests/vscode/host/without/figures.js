const { test } = require('../kit');
const { slip, times, told } = require('../figures');

test('how late a timer of 10 ms is in a host without Aside', async () => {
  const all = await times(7, () => slip(() => new Promise((resolve) => setTimeout(resolve, 2_000))));
  return `\n#   p99: ${told(all)}`;
});
