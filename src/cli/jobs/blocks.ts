import { createHash } from 'node:crypto';
import type { Run } from '../sources/runs.js';

/** Entries of the sources in order, as they go to the service in one call. */
export interface Block {
  /** Entries of the sources before it. */
  readonly from: number;
  /** Entries up to its end: items, and faults, which are not sent. */
  readonly end: number;
  readonly items: readonly string[];
  readonly faults: readonly string[];
  /** Where an item is in the sources, by its index, for people; undefined if it has no place. */
  readonly placeOf: (index: number) => string | undefined;
  /** Of all items up to its end. It does not depend on how they were cut. */
  readonly digest: string;
  /** It ends where the sources end, or pause, and not because it is full. */
  readonly short: boolean;
}

export interface BlockOptions {
  readonly maxItems: number;
  /** Of all items, as `sizeOf` measures them; an item that is larger is a block by itself. */
  readonly maxSize: number;
  readonly sizeOf: (item: string) => number;
  /** A block ends here, as it did when it was sent before. */
  readonly cutAt?: number | undefined;
}

/** The sources have changed: what was done is not the beginning of what they hold. */
export class ChangedSources extends Error {
  override readonly name = 'ChangedSources';
}

/** From an item of a block on, its items are those of a run. */
interface Piece {
  readonly at: number;
  readonly run: Run;
  readonly offset: number;
}

/** Cuts entries into blocks, always at the same places. */
export class Blocks {
  private items: string[] = [];
  private faults: string[] = [];
  private pieces: Piece[] = [];
  private size = 0;
  private from = 0;
  private end = 0;
  private readonly hash = createHash('sha256');

  constructor(private readonly options: BlockOptions) {}

  /**
   * The blocks of the entries behind the first `done`, which must have this digest. Throws ChangedSources if they have
   * another, or if there are not so many.
   */
  async *of(
    runs: AsyncIterable<Run>,
    done: { readonly entries: number; readonly digest: string },
  ): AsyncGenerator<Block, void, undefined> {
    for await (const run of runs) {
      let at = 0;
      if (this.end < done.entries) {
        at = this.skip(run, done);
        if (at > run.items.length || this.end < done.entries) continue;
      }
      for (; at < run.items.length; at++) {
        const item = run.items[at] as string;
        if (!this.hasRoomFor(item)) yield this.take(false);
        this.add(item, run, at);
        if (this.isFull()) yield this.take(false);
      }
      if (run.fault !== undefined) {
        this.faults.push(run.fault);
        this.end++;
        if (this.isFull()) yield this.take(false);
      }
      if (run.pause === true && this.end > this.from) yield this.take(true);
    }
    if (this.end < done.entries) throw new ChangedSources(`there are only ${this.end} entries`);
    if (this.end > this.from) yield this.take(true);
  }

  /** Passes over entries that were done. Answers the place of the first that was not; beyond the items if there is none. */
  private skip(run: Run, done: { readonly entries: number; readonly digest: string }): number {
    const count = Math.min(run.items.length, done.entries - this.end);
    this.update(run.items.slice(0, count));
    this.end += count;
    const isFaultDone = run.fault !== undefined && this.end < done.entries;
    if (isFaultDone) this.end++;
    this.from = this.end;
    if (this.end === done.entries && this.digest() !== done.digest)
      throw new ChangedSources(`the first ${done.entries} entries are others`);
    return isFaultDone ? run.items.length + 1 : count;
  }

  private add(item: string, run: Run, place: number): void {
    if (this.pieces.at(-1)?.run !== run) this.pieces.push({ at: this.items.length, run, offset: place });
    this.items.push(item);
    this.size += this.options.sizeOf(item);
    this.end++;
  }

  private hasRoomFor(item: string): boolean {
    const { maxSize, sizeOf } = this.options;
    return this.items.length === 0 || this.size + sizeOf(item) <= maxSize;
  }

  private isFull(): boolean {
    const { maxItems, cutAt } = this.options;
    return this.end - this.from >= maxItems || this.end === cutAt;
  }

  private take(short: boolean): Block {
    const { from, end, items, faults, pieces } = this;
    this.update(items);
    this.from = end;
    this.items = [];
    this.faults = [];
    this.pieces = [];
    this.size = 0;
    const placeOf = (index: number): string | undefined => {
      const piece = pieces.findLast(({ at }) => at <= index);
      return piece?.run.placeOf?.(piece.offset + index - piece.at);
    };
    return { from, end, items, faults, placeOf, digest: this.digest(), short };
  }

  private update(items: readonly string[]): void {
    if (items.length > 0) this.hash.update(`${items.join('\n')}\n`);
  }

  private digest(): string {
    return this.hash.copy().digest('hex').slice(0, 32);
  }
}
