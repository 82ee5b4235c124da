import { CYCLE } from '../../age.js';
import { HashTable } from '../hashes/hash-table.js';

/** Values in a table. */
const State = { Hidden: 1, Shown: 2 } as const;

/** A change to write: the item's hash (four words), and the last epoch in which it is, or was, hidden. */
export interface HiddenChange {
  readonly hash: Uint32Array;
  readonly until: number;
  readonly hidden: boolean;
}

/**
 * The exact items, by hash, that were forgotten in layers that age while other items kept all their cells live. An item
 * stays hidden until the last epoch in which all its cells, as they were when it was forgotten, are live. After that,
 * any live cell is live because of other items.
 */
export class Hidden {
  /** By the last epoch in which items are hidden, modulo CYCLE. */
  private readonly tables = new Array<HashTable | undefined>(CYCLE).fill(undefined);
  private readonly sizes = new Float64Array(CYCLE);
  /**
   * For each table, how many of its items are no longer hidden. The table is rebuilt without them once they are most of
   * it.
   */
  private readonly shown = new Float64Array(CYCLE);
  private epoch = 0;
  /** Changes not written yet. */
  private changes: HiddenChange[] = [];

  /** See `shownPerTable` in database/sizes.ts. */
  constructor(private readonly shownPerTable: number) {}

  get size(): number {
    let size = 0;
    for (const some of this.sizes) size += some;
    return size;
  }

  has(words: Uint32Array, at: number): boolean {
    for (let slot = 0; slot < CYCLE; slot++) {
      if ((this.sizes[slot] as number) > 0 && this.tables[slot]?.get(words, at) === State.Hidden) return true;
    }
    return false;
  }

  /** Hides an item until `epochs` epochs after the current one. */
  hide(words: Uint32Array, at: number, epochs: number): void {
    const until = this.epoch + epochs;
    this.restore(words, at, until);
    this.changes.push({ hash: words.slice(at, at + 4), until, hidden: true });
  }

  /** Hides an item whose row is already written. */
  restore(words: Uint32Array, at: number, until: number): void {
    const slot = until % CYCLE;
    const table = (this.tables[slot] ??= new HashTable());
    const state = table.get(words, at);
    if (state === State.Hidden) return;
    if (state === State.Shown) this.shown[slot] = (this.shown[slot] as number) - 1;
    table.set(words, at, State.Hidden);
    this.sizes[slot] = (this.sizes[slot] as number) + 1;
  }

  /** Stops hiding an item. Returns true if it was hidden. */
  show(words: Uint32Array, at: number): boolean {
    let was = false;
    for (let epochs = 0; epochs < CYCLE; epochs++) {
      const until = this.epoch + epochs;
      const slot = until % CYCLE;
      if ((this.sizes[slot] as number) === 0 || this.tables[slot]?.get(words, at) !== State.Hidden) continue;
      this.tables[slot].set(words, at, State.Shown);
      this.sizes[slot] = (this.sizes[slot] as number) - 1;
      this.shown[slot] = (this.shown[slot] as number) + 1;
      this.compact(slot);
      this.changes.push({ hash: words.slice(at, at + 4), until, hidden: false });
      was = true;
    }
    return was;
  }

  private compact(slot: number): void {
    const shown = this.shown[slot] as number;
    if (shown < this.shownPerTable || shown < (this.sizes[slot] as number)) return;
    const kept = new HashTable();
    this.tables[slot]?.forEach((words, at, state) => {
      if (state === State.Hidden) kept.set(words, at, state);
    });
    this.tables[slot] = kept;
    this.shown[slot] = 0;
  }

  /** Advances to an epoch, and drops items that are no longer hidden by then. */
  advance(epoch: number): void {
    for (let past = Math.max(this.epoch, epoch - CYCLE); past < epoch; past++) {
      this.tables[past % CYCLE] = undefined;
      this.sizes[past % CYCLE] = 0;
      this.shown[past % CYCLE] = 0;
    }
    this.epoch = Math.max(this.epoch, epoch);
  }

  /** The changes since the last call. */
  takeChanges(): readonly HiddenChange[] {
    const { changes } = this;
    if (changes.length > 0) this.changes = [];
    return changes;
  }

  /** Calls `visit` for each hidden item, with an array that has its hash at index `at`. */
  forEach(visit: (words: Uint32Array, at: number, until: number) => void): void {
    for (let epochs = 0; epochs < CYCLE; epochs++) {
      const until = this.epoch + epochs;
      this.tables[until % CYCLE]?.forEach((words, at, state) => {
        if (state === State.Hidden) visit(words, at, until);
      });
    }
  }
}
