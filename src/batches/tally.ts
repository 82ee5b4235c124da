import type { BatchResult } from './batch.js';

/** The meaning of one byte in the store's answer. */
export interface Verdict {
  /** The name in the counts. */
  readonly name: string;
  /** The value in the results. */
  readonly result: string | number | boolean;
}

/** Verdicts by byte. */
export type Verdicts = readonly Verdict[];

/** Verdicts whose results are their names. */
export function named(...names: string[]): Verdicts {
  return names.map((name) => ({ name, result: name }));
}

/** Converts the store's bytes to results and counts. A verdict without items has count 0. */
export function tally(bytes: Uint8Array, verdicts: Verdicts): BatchResult {
  const results = new Array<Verdict['result']>(bytes.length);
  const tallies = new Uint32Array(verdicts.length);
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    const verdict = verdicts[byte];
    if (verdict === undefined) throw new RangeError(`the store returned ${byte} for item ${i}`);
    results[i] = verdict.result;
    tallies[byte] = (tallies[byte] as number) + 1;
  }
  const counts: Record<string, number> = {};
  verdicts.forEach(({ name }, byte) => (counts[name] = (counts[name] ?? 0) + (tallies[byte] as number)));
  return { results, counts };
}
