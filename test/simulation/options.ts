import { parseArgs } from 'node:util';
import { whole } from '../history/options.js';

export const USAGE = `npm run simulate -- [options]

  --seed N       seed of the first history; the others have the next numbers (random)
  --count N      maximum number of histories (1000)
  --seconds N    maximum time in seconds (60)
`;

const MOST = 2 ** 31 - 1;

export interface Options {
  readonly seed: number;
  readonly count: number;
  readonly seconds: number;
}

/** Parses the command line. Throws an error whose message names the problem. */
export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: String(Date.now() % MOST) },
      count: { type: 'string', default: '1000' },
      seconds: { type: 'string', default: '60' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    seed: whole('--seed', values.seed, 0, MOST),
    count: whole('--count', values.count, 1, MOST),
    seconds: whole('--seconds', values.seconds, 1, 86_400),
  };
}
