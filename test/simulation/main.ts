import { readOptions, USAGE, type Options } from './options.js';
import { planOf } from './plan.js';
import { shrink } from './shrink.js';
import { simulate } from './simulate.js';

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(USAGE);
    return;
  }
  const began = performance.now();
  const { histories, failed, exercised } = await simulate(seedsInTime(options, began));
  for (const rule of [...exercised.keys()].sort())
    console.log(`${String(exercised.get(rule)).padStart(8)}  ${rule}`);
  const minutes = (performance.now() - began) / 60_000;
  console.log(`${histories} histories, ${Math.round(histories / minutes)} a minute`);
  for (const [seed, violation] of failed) await explain(seed, violation);
}

function* seedsInTime({ seed, count, seconds }: Options, began: number): Generator<number, void, undefined> {
  for (let n = 0; n < count && performance.now() - began < seconds * 1_000; n++) yield seed + n;
}

async function explain(seed: number, violation: string): Promise<void> {
  process.exitCode = 1;
  console.log(`seed ${seed} fails: ${violation}\n\nThe shortest history found that fails:`);
  const { plan, outcome } = await shrink(planOf(seed));
  const { limits, sets } = plan;
  console.log(JSON.stringify(limits));
  for (const { seed: _seed, geometry, layers, ...spec } of sets)
    console.log(JSON.stringify({ ...spec, segments: geometry.segments, layers: layers?.length ?? 1 }));
  for (const line of outcome.trace) console.log(line);
  console.log(outcome.violation);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
