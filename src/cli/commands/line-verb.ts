import type { ChangeOptions, Filter, ListVerb } from '#client';
import type { Counts } from '../jobs/job.js';
import type { Found } from './found.js';

type Result = string | boolean;

/** A verb of the client for the lines of sources. */
export interface LineVerb {
  readonly send: ListVerb<string, Result, ChangeOptions>;
  /** Words for results that are not words. */
  readonly words?: Readonly<Record<string, string>>;
}

/** Counts entries that were not taken. */
export const REFUSED = 'refused';

/** Adds items to a filter, in the words of visited sets. */
export function adding({ add }: Filter): LineVerb {
  return { send: add, words: { true: 'new', false: 'seen' } };
}

/** Asks whether items are there, in the same words for both kinds. */
export function checking(found: Found): LineVerb {
  if (found.kind === 'visited set') return { send: found.handle.check };
  return { send: found.handle.has, words: { true: 'seen', false: 'unseen' } };
}

export function wordOf({ words }: LineVerb, result: Result | undefined): string {
  return words?.[String(result)] ?? String(result);
}

/** Counts by result as counts by word. */
export function countsIn(verb: LineVerb, counts: Readonly<Counts>): Counts {
  return Object.fromEntries(Object.entries(counts).map(([result, count]) => [wordOf(verb, result), count]));
}
