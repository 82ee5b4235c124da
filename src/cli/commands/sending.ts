import { ValidationError, type CallOptions, type ChangeOptions, type Filter, type Verb } from '#client';
import { show } from '../../errors/show.js';
import type { Found } from './found.js';

/** An item that is not taken, and why. */
export interface Complaint {
  readonly index: number;
  readonly text: string;
}

/** What became of the items of a block. */
export interface BlockAnswer {
  /** A word per item, in order; `refused`: see `complaints`. */
  readonly results: readonly string[];
  /** By word. */
  readonly counts: Readonly<Record<string, number>>;
  readonly complaints: readonly Complaint[];
}

/** Sends a block of at most 1,000 items. `key`: of one that changes something. */
export type Send = (
  items: readonly string[],
  key: string | undefined,
  signal: AbortSignal,
) => Promise<BlockAnswer>;

export const REFUSED = 'refused';

/** A refusal names a hundred items at a time. */
const MOST_ROUNDS = 12;

type Words = (result: string | boolean) => string;

/** Sends blocks by a verb of the client. `word`: what is said for a result, if that is no word. */
export function sending<Result extends string | boolean, Options extends CallOptions>(
  verb: Verb<string, Result, Options>,
  word: Words = String,
): Send {
  const call = verb as unknown as Verb<string, Result, ChangeOptions>;
  return async (items, key, signal) => {
    const words: string[] = Array<string>(items.length).fill(REFUSED);
    const complaints: Complaint[] = [];
    let places = items.map((_, place) => place);
    for (let round = 0; places.length > 0; round++) {
      const block = places.map((place) => items[place] as string);
      const options = { signal, ahead: 1, ...(key !== undefined && { idempotencyKey: `${key}-${round}` }) };
      try {
        let at = 0;
        for await (const { results, invalid } of call(block.values(), options).blocks()) {
          for (const [i, reason] of invalid) {
            const index = places[at + i] as number;
            complaints.push({ index, text: `${show(items[index])}: ${reason}` });
          }
          for (const result of results) words[places[at++] as number] = word(result);
        }
        break;
      } catch (error) {
        const refused = error instanceof ValidationError ? faultsIn(error) : undefined;
        if (refused === undefined || round === MOST_ROUNDS) throw error;
        for (const [i, text] of refused) complaints.push({ index: places[i] as number, text });
        places = places.filter((_, i) => !refused.has(i));
      }
    }
    return { results: words, counts: tally(words), complaints };
  };
}

/** Adds items to a filter, in the words of visited sets. */
export function adding({ add }: Filter): Send {
  return sending(add, (fresh) => (fresh === true ? 'new' : 'seen'));
}

/** Asks whether items are there, in the same words for both kinds. */
export function checking(found: Found): Send {
  if (found.kind === 'visited set') return sending(found.handle.check);
  return sending(found.handle.has, (result) => (result === true ? 'seen' : 'unseen'));
}

const PLACE = /^#\/items\/(\d{1,9})$/;

/** What is wrong with items, by their places; undefined if something else is wrong. */
function faultsIn({ errors }: ValidationError): ReadonlyMap<number, string> | undefined {
  const faults = new Map<number, string>();
  for (const { pointer, detail } of errors) {
    const [, place] = PLACE.exec(pointer) ?? [];
    if (place === undefined) return undefined;
    faults.set(Number(place), detail.replace(/^items\[\d+\] /, 'the item '));
  }
  return faults.size > 0 ? faults : undefined;
}

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
