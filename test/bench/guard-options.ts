import { parseArgs } from 'node:util';

export interface GuardOptions {
  /** Writes the baseline instead of comparing with it. */
  readonly update: boolean;
}

/** Parses the options of `--guard`. Throws an error whose message names the problem. */
export function readGuardOptions(args: readonly string[]): GuardOptions {
  const { values } = parseArgs({
    args: [...args],
    options: { guard: { type: 'boolean' }, update: { type: 'boolean', default: false } },
  });
  return { update: values.update };
}
