import { ValidationError, type Fault } from './errors.js';

/** A refusal names up to 100 entries, so this many rounds are enough even if the service refuses a whole batch. */
const MOST_ROUNDS = 12;

const PLACE = /^#\/\w+\/(\d{1,9})$/;

/** The answer for the entries that the service accepted. */
export interface Accepted<Answer> {
  /** Undefined if it accepted none. */
  readonly answer: Answer | undefined;
  /** Indexes of the accepted entries in the batch, in order. */
  readonly places: readonly number[];
}

/**
 * Sends a batch. Passes entries that the service refuses to `refuse`, and resends all others. Throws any other error.
 */
export async function sendAccepted<Entry, Answer>(
  entries: readonly Entry[],
  send: (entries: readonly Entry[], round: number) => Promise<Answer>,
  refuse: (place: number, fault: Fault, error: ValidationError) => void,
): Promise<Accepted<Answer>> {
  let places = entries.map((_, place) => place);
  for (let round = 0; places.length > 0; round++) {
    try {
      const answer = await send(
        places.map((place) => entries[place] as Entry),
        round,
      );
      return { answer, places };
    } catch (error) {
      const refused = error instanceof ValidationError ? faultsByPlace(error, places.length) : undefined;
      if (!refused || round === MOST_ROUNDS) throw error;
      for (const [i, fault] of refused) refuse(places[i] as number, fault, error as ValidationError);
      places = places.filter((_, i) => !refused.has(i));
    }
  }
  return { answer: undefined, places };
}

/** The errors for `count` entries by index, or undefined if the refusal has another cause. */
function faultsByPlace(
  { code, detail, errors }: ValidationError,
  count: number,
): ReadonlyMap<number, Fault> | undefined {
  const faults = new Map<number, Fault>();
  // An entry larger than a block is sent alone, so the refusal is about this entry.
  if (code === 'BODY_TOO_LARGE' && count === 1)
    return faults.set(0, { pointer: '#', detail: `is too large: ${detail}` });
  for (const fault of errors) {
    const [, place] = PLACE.exec(fault.pointer) ?? [];
    if (place === undefined) return undefined;
    faults.set(Number(place), fault);
  }
  return faults.size > 0 ? faults : undefined;
}
