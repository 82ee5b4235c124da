import { parseArgs } from 'node:util';
import type { BenchOptions } from './row.js';
import { BATCH } from './workload.js';

/** The default file of URLs to canonicalise. */
export const SAMPLE = 'test/data/debian-homepages-sample.txt';

export const USAGE = `npm run bench -- [options]

  --quick            checks in two minutes that everything runs; the figures mean little
  --rows PATTERN     run only groups of rows whose names match this regular expression
  --seconds N        minimum measuring time per row, for rows that repeat (3)
  --warm-up N        minimum seconds for which a service works before it is measured (4, with --quick 0)
  --size N           use filters for 10^6 and N items instead of 10^5 to 10^7: embedded-batch,
                     embedded-memory and redis; 1e8 takes half an hour
  --file FILE        URLs to canonicalise, one per line (${SAMPLE})
  --out FILE         write the results to this file as JSON (bench-results.json)
  --update FILE      also write the tables between the markers of this Markdown file, and the chart next to it
  --profile FOLDER   also write profiles of the services' CPU time and allocations there; this slows them down

  REDISBLOOM_URL in the environment lists servers, separated by commas, whose filter module joins the peers. If a server
  has appendonly yes and appendfsync always, the name of its row ends in -synced.

npm run bench -- --compare BEFORE [AFTER] [options]

  Compares two commits, or a commit and this build, in alternating rounds; or two .json files of results.
  --rows PATTERN     run only these groups, of those that measure a service: embedded-batch, embedded-stream,
                     embedded-single, redis, redis-single (embedded-batch and redis)
  --rounds N         rounds of each version (5)
  --seconds N        minimum measuring time per row and round, for rows that repeat (1)

npm run bench -- --guard [--update]

  Measures a few ratios in less than a minute, and compares them with test/bench/guard-baseline.json. Fails if one is
  more than 30 % worse. With --update, it writes that file instead.
`;

const MIN_SIZE = 10_000;
const MAX_SIZE = 1_000_000_000;

export interface Options extends BenchOptions {
  readonly rows: RegExp;
  readonly out: string;
  readonly update: string | undefined;
}

/** Parses the command line. Throws an error whose message names the problem. */
export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      rows: { type: 'string', default: '' },
      seconds: { type: 'string' },
      'warm-up': { type: 'string' },
      size: { type: 'string' },
      file: { type: 'string', default: SAMPLE },
      out: { type: 'string', default: 'bench-results.json' },
      update: { type: 'string' },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const seconds = Number(values.seconds ?? (values.quick ? 0.5 : 3));
  if (!(seconds > 0 && seconds <= 600)) {
    throw new RangeError(`--seconds is ${values.seconds}; it must be above 0 and at most 600`);
  }
  const warmUpSeconds = Number(values['warm-up'] ?? (values.quick ? 0 : 4));
  if (!(warmUpSeconds >= 0 && warmUpSeconds <= 600)) {
    throw new RangeError(`--warm-up is ${values['warm-up']}; it must be from 0 to 600`);
  }
  const size = values.size === undefined ? undefined : Number(values.size);
  if (size !== undefined && !(size >= MIN_SIZE && size <= MAX_SIZE && size % BATCH === 0)) {
    throw new RangeError(`--size is ${values.size}; it must be thousands, from ${MIN_SIZE} to ${MAX_SIZE}`);
  }
  return {
    size,
    quick: values.quick,
    rows: new RegExp(values.rows),
    seconds,
    warmUpSeconds,
    file: values.file,
    out: values.out,
    update: values.update,
    profileDir: values.profile,
  };
}
