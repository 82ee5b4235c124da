import type { AddOptions, ChangeOptions, Filter, ListVerb } from '#client';
import type { Counts } from '../jobs/job.js';
import type { Found } from './found.js';

type Result = string | boolean;

/** A client method that takes the sources' lines. */
export interface LineVerb {
  readonly send: ListVerb<string, Result, ChangeOptions>;
  /** Names for results that aren't strings. */
  readonly words?: Readonly<Record<string, string>>;
}

/** The name for the count of refused entries. */
export const REFUSED = 'refused';

/** Adds items to a filter, with the same result names as for visited sets. */
export function adding({ add }: Filter, options: AddOptions = {}): LineVerb {
  return {
    send: (items, call) => add(items, { ...options, ...call }),
    words: { true: 'new', false: 'seen' },
  };
}

/** Checks items, with the same result names for both kinds. */
export function checking(found: Found): LineVerb {
  if (found.kind === 'visited set') return { send: found.handle.check };
  return { send: found.handle.has, words: { true: 'seen', false: 'unseen' } };
}

export function wordOf({ words }: LineVerb, result: Result | undefined): string {
  return words?.[String(result)] ?? String(result);
}

/** Converts counts by result to counts by name. */
export function countsIn(verb: LineVerb, counts: Readonly<Counts>): Counts {
  return Object.fromEntries(Object.entries(counts).map(([result, count]) => [wordOf(verb, result), count]));
}
