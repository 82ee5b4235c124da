import { parseArgs } from 'node:util';
import type { BenchOptions } from './row.js';

const SAMPLE = 'test/data/debian-homepages-sample.txt';

export const USAGE = `npm run bench -- [options]

  --quick            shows in half a minute that everything runs; the figures mean little
  --rows PATTERN     only the groups of rows whose names match this regular expression
  --seconds N        least time of measurement per row, where rows repeat (3)
  --file FILE        URLs to canonicalise, one a line (${SAMPLE})
  --out FILE         where the results go as JSON (bench-results.json)
  --update FILE      also puts the tables between the bench's marks in this Markdown file
  --profile FOLDER   also writes CPU profiles of the services there (they slow them down)
`;

export interface Options extends BenchOptions {
  readonly rows: RegExp;
  readonly out: string;
  readonly update: string | undefined;
}

/** Throws an error whose message says what is wrong. */
export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      rows: { type: 'string', default: '' },
      seconds: { type: 'string' },
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
    throw new RangeError(`--seconds is ${values.seconds}: must be above 0 and at most 600`);
  }
  return {
    quick: values.quick,
    rows: new RegExp(values.rows),
    seconds,
    file: values.file,
    out: values.out,
    update: values.update,
    profileDir: values.profile,
  };
}
