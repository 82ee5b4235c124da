import { parseArgs } from 'node:util';
import { LEAST_ROUNDS } from './verdict.js';

const ROWS = '^(embedded-batch|redis)$';
const MOST_ROUNDS = 50;
const MOST_SECONDS = 600;

export type CompareOptions = CommitOptions | FileOptions;

export interface CommitOptions {
  readonly of: 'commits';
  readonly before: string;
  /** Undefined for this build. */
  readonly after: string | undefined;
  readonly rows: RegExp;
  /** Rounds of each version. */
  readonly rounds: number;
  /** Minimum measuring time per row and round, for rows that repeat. */
  readonly seconds: number;
}

/** Options for comparing results that `--out` wrote. */
export interface FileOptions {
  readonly of: 'files';
  readonly before: string;
  readonly after: string;
}

/** Parses the options of `--compare`. Throws an error whose message names the problem. */
export function readCompareOptions(args: readonly string[]): CompareOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      compare: { type: 'string', default: '' },
      rows: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
    },
  });
  const [after, ...more] = positionals;
  if (more.length > 0)
    throw new RangeError(`--compare takes at most two versions; leave out ${more.join(' ')}`);
  const before = values.compare;
  const files = [before, after].filter((name) => name?.endsWith('.json') === true).length;
  if (files === 1) {
    throw new RangeError(
      `--compare ${[before, ...positionals].join(' ')}: takes two commits, or two .json files of results`,
    );
  }
  if (files === 2 && after !== undefined) {
    const given = (['rows', 'rounds', 'seconds'] as const).find((name) => values[name] !== undefined);
    if (given === undefined) return { of: 'files', before, after };
    throw new RangeError(`--${given} is for commits: files of results have fixed rows and rounds`);
  }
  return {
    ...{ of: 'commits', before, after, rows: new RegExp(values.rows ?? ROWS) },
    rounds: whole('--rounds', values.rounds ?? String(LEAST_ROUNDS), LEAST_ROUNDS, MOST_ROUNDS),
    seconds: whole('--seconds', values.seconds ?? '1', 1, MOST_SECONDS),
  };
}

function whole(name: string, value: string, least: number, most: number): number {
  const read = /^\d+$/.test(value) ? Number(value) : NaN;
  if (read >= least && read <= most) return read;
  throw new RangeError(`${name} is ${value}; it must be a whole number from ${least} to ${most}`);
}
