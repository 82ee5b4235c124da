/** Applies one mutation at a time to a copy of the sources, and runs the tests that must then fail. See `--help`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { faultsOf, readLists } from '../test/mutations/read-lists.mjs';
import { ScratchCopy } from '../test/mutations/scratch-copy.mjs';

/** Commands that pass on the unchanged sources. */
const sound = new Set();

const HELP = `npm run mutate -- [options] [list …]

Applies the mutations of test/mutations/*.diff to a copy of the sources, one at a time, and runs the tests that must
then fail. Exits with 1 if a mutation survives. Without a list, it runs all lists, which takes an hour or two.

  --only TEXT    only mutations whose name or path contains TEXT
  --by COMMAND   tests to run, as arguments of npm test, instead of those in the lists
  --limit S      time limit for the tests of a mutation, in seconds (default 240); a timeout counts as killed
  --check        only check that the text of each mutation occurs exactly once in the sources
  --lists DIR    folder with other lists
  --help         print this help
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: '' },
    by: { type: 'string' },
    limit: { type: 'string', default: '240' },
    check: { type: 'boolean', default: false },
    lists: { type: 'string', default: 'test/mutations' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(HELP);
else process.exitCode = await main();

async function main() {
  const root = process.cwd();
  const all = readLists(resolve(values.lists));
  const unknown = positionals.filter((list) => !all.some((mutation) => mutation.list === list));
  const chosen = all.filter(
    ({ list, name, path }) =>
      (positionals.length === 0 || positionals.includes(list)) && `${name} ${path}`.includes(values.only),
  );
  const faults = [...unknown.map((list) => `the list ${list} does not exist`), ...faultsOf(chosen, root)];
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) return 1;
  const live = chosen.filter(({ equivalent }) => equivalent === undefined);
  console.log(`${live.length} mutations, and ${chosen.length - live.length} that are equivalent`);
  return values.check ? 0 : tryAll(live, root);
}

async function tryAll(mutations, root) {
  const copy = new ScratchCopy(root);
  process.once('exit', () => copy.remove());
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  const counts = {};
  for (const mutation of mutations) {
    const began = performance.now();
    const { verdict, note } = await tryOne(mutation, copy);
    counts[verdict] = (counts[verdict] ?? 0) + 1;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(`${verdict.padEnd(9)} ${seconds.padStart(6)} s  ${mutation.list}: ${mutation.name}${note}`);
  }
  console.log(
    Object.entries(counts)
      .map(([verdict, count]) => `${count} ${verdict}`)
      .join(', '),
  );
  return Object.keys(counts).every((verdict) => verdict === 'killed' || verdict === 'timed out') ? 0 : 1;
}

async function tryOne(mutation, copy) {
  const limitMs = Number(values.limit) * 1000;
  for (const command of values.by === undefined ? mutation.killedBy : [values.by]) {
    const words = wordsOf(command);
    if (!sound.has(command)) {
      const outcome = await copy.test(words, limitMs);
      if (!(outcome?.passed > 0) || outcome.failed) {
        return {
          verdict: 'unsound',
          note: `\n  without a mutation: jest ${command}: ${JSON.stringify(outcome)}`,
        };
      }
      sound.add(command);
    }
    const outcome = await copy.mutated(mutation, () => copy.test(words, limitMs));
    if (!outcome) return { verdict: 'timed out', note: '' };
    if (outcome.loading || /Error compiling script/.test(outcome.why ?? '')) {
      return { verdict: 'unsound', note: `\n  does not load: ${outcome.why}` };
    }
    if (outcome.failed) return { verdict: 'killed', note: `\n${' '.repeat(21)}by ${outcome.failed}` };
  }
  return { verdict: 'survived', note: `\n${' '.repeat(21)}${mutation.path}: ${mutation.breaks}` };
}

/** A command's words. A quoted part is one word. */
function wordsOf(command) {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
}
