// Figures: how late a timer is, and many figures in a few words.

const sorted = (all) => [...all].sort((a, b) => a - b);
const quantile = (all, part) => sorted(all)[Math.floor((all.length - 1) * part)];

/** The median and the least of some figures in ms. */
const told = (all) => `median ${quantile(all, 0.5).toFixed(1)} ms, least ${Math.min(...all).toFixed(1)} ms, most ${Math.max(...all).toFixed(1)} ms (${all.length} times)`;

/** How late a timer of 10 ms is each time while something goes on, in ms. */
async function late(during) {
  const all = [];
  let due = performance.now() + 10;
  const timer = setInterval(() => {
    all.push(Math.max(0, performance.now() - due));
    due = performance.now() + 10;
  }, 10);
  await during();
  clearInterval(timer);
  return all;
}

/** The 99th percentile of that. */
const slip = async (during) => quantile(await late(during), 0.99);

async function times(count, measure) {
  const all = [];
  for (let n = 0; n < count; n++) all.push(await measure());
  return all;
}

module.exports = { late, slip, times, told };
