import { ValidationError, type CallOptions, type ChangeOptions, type Verb } from '#client';
import type { Line } from '../lines/lines.js';

/** What became of the lines of a block. */
export interface BlockAnswer {
  /** A word per line, in order. */
  readonly results: readonly string[];
  /** Why lines are not valid, by their places. */
  readonly invalid: ReadonlyMap<number, string>;
}

/** Sends a block. A repeat under its key does nothing twice. */
export type Send = (block: readonly Line[], key: string, signal: AbortSignal) => Promise<BlockAnswer>;

/** Said of a line that the service does not take. */
export const INVALID = 'invalid';

/** A refusal names a hundred entries at a time. */
const MOST_ROUNDS = 12;

/**
 * Sends blocks by a verb of the client. `entryOf`: what it is given for a line. `word`: what is said for a result, if that is no
 * word. Entries that the service refuses are left out and said to be invalid, and the others sent again.
 */
export function sending<Entry, Result extends string | boolean, Options extends CallOptions>(
  verb: Verb<Entry, Result, Options>,
  entryOf: (line: Line) => Entry,
  word: (result: Result) => string = String,
): Send {
  const call = verb as unknown as Verb<Entry, Result, ChangeOptions>;
  return async (block, key, signal) => {
    const results = Array<string>(block.length).fill(INVALID);
    const reasons = new Map<number, string>();
    let places = block.map((_, place) => place);
    for (let round = 0; places.length > 0; round++) {
      const entries = places.map((place) => entryOf(block[place] as Line));
      const options = { signal, ahead: 1, idempotencyKey: `${key}.${round}` };
      try {
        let at = 0;
        for await (const answered of call(entries.values(), options).blocks()) {
          for (const [i, reason] of answered.invalid) reasons.set(places[at + i] as number, reason);
          for (const result of answered.results) results[places[at++] as number] = word(result);
        }
        break;
      } catch (error) {
        const refused = error instanceof ValidationError ? faultsIn(error) : undefined;
        if (refused === undefined || round === MOST_ROUNDS) throw error;
        for (const [i, reason] of refused) reasons.set(places[i] as number, reason);
        places = places.filter((_, i) => !refused.has(i));
      }
    }
    return { results, invalid: reasons };
  };
}

const PLACE = /^#\/(?:items|urls)\/(\d{1,9})$/;

/** What is wrong with entries, by their places; undefined if something else is wrong. */
function faultsIn({ errors }: ValidationError): ReadonlyMap<number, string> | undefined {
  const faults = new Map<number, string>();
  for (const { pointer, detail } of errors) {
    const [, place] = PLACE.exec(pointer) ?? [];
    if (place === undefined) return undefined;
    faults.set(Number(place), detail.replace(/^\w+\[\d+\] /, ''));
  }
  return faults.size > 0 ? faults : undefined;
}
