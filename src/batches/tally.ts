import type { BatchResult } from './batch.js';

/** What one byte of the store's answer means. */
export interface Verdict {
  /** As counted. */
  readonly name: string;
  /** As answered. */
  readonly result: string | number | boolean;
}

/** Verdicts by byte. */
export type Verdicts = readonly Verdict[];

/** Verdicts that are answered by their names. */
export function named(...names: string[]): Verdicts {
  return names.map((name) => ({ name, result: name }));
}

/** The store's bytes as results and counts; verdicts that nobody got are counted as 0. */
export function tally(bytes: Uint8Array, verdicts: Verdicts): BatchResult {
  const results = new Array<Verdict['result']>(bytes.length);
  const tallies = new Uint32Array(verdicts.length);
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    const verdict = verdicts[byte];
    if (verdict === undefined) throw new RangeError(`the store answered ${byte} for item ${i}`);
    results[i] = verdict.result;
    tallies[byte] = (tallies[byte] as number) + 1;
  }
  const counts: Record<string, number> = {};
  verdicts.forEach(({ name }, byte) => (counts[name] = (counts[name] ?? 0) + (tallies[byte] as number)));
  return { results, counts };
}
