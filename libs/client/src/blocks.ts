import { MOST_ENTRIES, MOST_SIZE } from './joined-calls.js';

/** A list of entries. */
export type Source<Entry> = Iterable<Entry> | AsyncIterable<Entry>;

/** One step of a source: an entry, or several. */
type Given<Entry> = Entry | readonly Entry[];

/** How to cut a source into blocks. */
export interface Cutting<Entry> {
  /** How many characters an entry takes in a body. */
  readonly sizeOf: (entry: Entry) => number;
  /** How long a block's first entry waits for more, in ms. Default: until the block is full. */
  readonly maxWaitMs?: number | undefined;
  /** True: if the source fails, the entries since the last block still become a block. */
  readonly keepsRest: boolean;
  /** How many entries at the start to leave out. */
  readonly skip?: number;
  /** Called for each skipped entry. */
  readonly skipped?: (entry: Entry) => void;
  /**
   * Blocks end after these numbers of entries, including skipped ones. Up to the last of these ends, `maxWaitMs`
   * doesn't end blocks.
   */
  readonly cuts?: readonly number[];
}

/**
 * Cuts entries into blocks of at most MOST_ENTRIES and about MOST_SIZE characters. Without `maxWaitMs`, the same
 * entries make the same blocks.
 */
export async function* blocksOf<Entry>(
  source: Source<Given<Entry>>,
  cutting: Cutting<Entry>,
): AsyncGenerator<Entry[]> {
  // A string is iterable too, as a list of characters.
  if (typeof source === 'string') throw new TypeError('expected a list, not a string');
  const block = new Block(cutting);
  try {
    if (Symbol.asyncIterator in source) yield* blocksOfAsync(source, block, cutting.maxWaitMs);
    else {
      // Don't use `yield*`, which waits one turn for each entry.
      for (const given of source) for (const full of block.fill(given)) yield full;
    }
  } catch (error) {
    if (cutting.keepsRest && !block.isEmpty) yield block.take();
    throw error;
  }
  if (!block.isEmpty) yield block.take();
}

async function* blocksOfAsync<Entry>(
  source: AsyncIterable<Given<Entry>>,
  block: Block<Entry>,
  maxWaitMs: number | undefined,
): AsyncGenerator<Entry[]> {
  const reader = source[Symbol.asyncIterator]();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waited: Promise<undefined> | undefined;
  const begin = (): void => {
    waited = new Promise((resolve) => (timer = setTimeout(() => resolve(undefined), maxWaitMs)));
  };
  const end = (): void => {
    clearTimeout(timer);
    waited = undefined;
  };
  let ended = false;
  const read = (): Promise<IteratorResult<Given<Entry>>> => {
    const next = reader.next();
    // The error is handled later, after the entries before it. Don't close a source that has failed.
    next.catch(() => (ended = true));
    return next;
  };
  try {
    let next = read();
    for (;;) {
      const got = await (waited ? Promise.race([next, waited]) : next);
      if (got === undefined) {
        end();
        yield block.take();
        continue;
      }
      ended = got.done === true;
      if (ended) return;
      for (const full of block.fill(got.value as Given<Entry>)) {
        end();
        yield full;
      }
      if (maxWaitMs !== undefined && waited === undefined && block.mayEnd) begin();
      next = read();
    }
  } finally {
    end();
    if (!ended) await reader.return?.();
  }
}

const NONE: readonly never[] = [];

class Block<Entry> {
  private entries: Entry[] = [];
  private size = 0;
  /** Number of entries read so far. */
  private position = 0;
  private readonly skip: number;
  private readonly cuts: number[];

  constructor(private readonly cutting: Cutting<Entry>) {
    const { skip = 0, cuts = [] } = cutting;
    this.skip = skip;
    this.cuts = cuts.filter((cut) => cut > skip).sort((a, b) => a - b);
  }

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /** True if the block may end here. Up to the last cut, blocks must end where they ended before. */
  get mayEnd(): boolean {
    return !this.isEmpty && this.cuts.length === 0;
  }

  /** Adds one step from a source. Full blocks come one by one, because an array may be long. */
  fill(given: Given<Entry>): Iterable<Entry[]> {
    return Array.isArray(given) ? this.fillAll(given as readonly Entry[]) : this.add(given as Entry);
  }

  private *fillAll(entries: readonly Entry[]): Generator<Entry[]> {
    for (const entry of entries) {
      const full = this.add(entry);
      if (full.length > 0) yield* full;
    }
  }

  private add(entry: Entry): readonly Entry[][] {
    this.position++;
    if (this.position <= this.skip) {
      this.cutting.skipped?.(entry);
      return NONE;
    }
    const size = this.cutting.sizeOf(entry);
    const before = !this.isEmpty && this.size + size > MOST_SIZE ? [this.take()] : NONE;
    this.entries.push(entry);
    this.size += size;
    const isCut = this.position === this.cuts[0];
    if (isCut) this.cuts.shift();
    return isCut || this.entries.length === MOST_ENTRIES ? [...before, this.take()] : before;
  }

  take(): Entry[] {
    const { entries } = this;
    [this.entries, this.size] = [[], 0];
    return entries;
  }
}
