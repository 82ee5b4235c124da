import { randomKey } from './random-key.js';
import type { SentBlock } from './send-list-options.js';

/** A list's progress, as a few hundred bytes of JSON. */
export interface Checkpoint {
  /** Start of the list's Idempotency-Keys. */
  readonly key: string;
  /** How many entries at the start of the list have results. */
  readonly entries: number;
  /** Digest of these entries. Empty if there are none. */
  readonly digest: string;
  /** Number of entries by result, such as `new`, or `true` and `false`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Number of refused entries, which `counts` doesn't include. */
  readonly refused: number;
  /**
   * For later blocks that ended before they were full: their ends, in entries from the start. On a retry, they end
   * there again.
   */
  readonly cuts: readonly number[];
}

export type Save = (checkpoint: Checkpoint) => unknown;

/** Saves a list's checkpoints one after another. */
export class Checkpoints {
  last: Checkpoint;
  /** True if a checkpoint was saved or is being saved. */
  isSaved = false;
  isOver = false;
  private saving: Promise<unknown> = Promise.resolve();

  /** Throws TypeError if `from` isn't a checkpoint. */
  constructor(
    from: Checkpoint | undefined,
    private readonly save: Save = () => undefined,
  ) {
    this.last = from ?? { key: randomKey(), entries: 0, digest: '', counts: {}, refused: 0, cuts: [] };
    const { key, entries, digest, cuts } = this.last;
    if (typeof key !== 'string' || typeof digest !== 'string' || !(entries >= 0) || !Array.isArray(cuts))
      throw new TypeError('from must be a checkpoint that resumeList has saved');
  }

  /** Changes the last checkpoint. Resolves when it is saved. */
  keep(change: Partial<Checkpoint>): Promise<unknown> {
    const checkpoint = { ...this.last, ...change };
    this.last = checkpoint;
    this.isSaved = true;
    this.saving = this.saving.then(() => this.save(checkpoint));
    return this.saving;
  }

  /** Records a block once it and all earlier blocks have their results. `digest`: of all entries up to its end. */
  took(
    { from, results }: Pick<SentBlock<unknown, string | number | boolean>, 'from' | 'results'>,
    digest: string,
  ): Promise<unknown> {
    const entries = from + results.length;
    let { refused } = this.last;
    const counts: Record<string, number> = { ...this.last.counts };
    for (const result of results) {
      if (result === undefined) refused++;
      else counts[String(result)] = (counts[String(result)] ?? 0) + 1;
    }
    const cuts = this.last.cuts.filter((cut) => cut > entries);
    return this.keep({ entries, digest, counts, refused, cuts });
  }

  /** Stops saving. Resolves when the last save has succeeded or failed. */
  async end(): Promise<void> {
    this.isOver = true;
    await this.saving.catch(() => undefined);
  }
}
