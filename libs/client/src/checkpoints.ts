import { randomKey } from './random-key.js';
import type { SentBlock } from './send-list-options.js';

/** How far a list has come. It is JSON, of a few hundred bytes. */
export interface Checkpoint {
  /** The Idempotency-Keys of the list begin with it. */
  readonly key: string;
  /** The number of entries that were answered: the first ones of the list. */
  readonly entries: number;
  /** A digest of these entries; empty if there are none. */
  readonly digest: string;
  /** How many of them got which result, by its word; `true` and `false` for a verb that answers these. */
  readonly counts: Readonly<Record<string, number>>;
  /** How many of them were refused, and are not in `counts`. */
  readonly refused: number;
  /** The ends of later blocks that are not full, in entries of the list: a repeated block ends there again. */
  readonly cuts: readonly number[];
}

export type Save = (checkpoint: Checkpoint) => unknown;

/** The checkpoints of a list, which are saved one after the other. */
export class Checkpoints {
  last: Checkpoint;
  /** Whether one was saved, or is being saved. */
  isSaved = false;
  isOver = false;
  private saving: Promise<unknown> = Promise.resolve();

  /** Throws TypeError if `from` is no checkpoint. */
  constructor(
    from: Checkpoint | undefined,
    private readonly save: Save = () => undefined,
  ) {
    this.last = from ?? { key: randomKey(), entries: 0, digest: '', counts: {}, refused: 0, cuts: [] };
    const { key, entries, digest, cuts } = this.last;
    if (typeof key !== 'string' || typeof digest !== 'string' || !(entries >= 0) || !Array.isArray(cuts))
      throw new TypeError('from must be a checkpoint that resumeList has saved');
  }

  /** Changes the last one. Resolves when it is saved. */
  keep(change: Partial<Checkpoint>): Promise<unknown> {
    const checkpoint = { ...this.last, ...change };
    this.last = checkpoint;
    this.isSaved = true;
    this.saving = this.saving.then(() => this.save(checkpoint));
    return this.saving;
  }

  /** A block was answered, as were all before it. `digest`: of all entries up to its end. */
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

  /** Saves no more. Resolves when the last one is saved, or could not be. */
  async end(): Promise<void> {
    this.isOver = true;
    await this.saving.catch(() => undefined);
  }
}
