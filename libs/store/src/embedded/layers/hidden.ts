import { CYCLE } from '../../age.js';
import { MarkTable } from '../hashes/mark-table.js';

/** In a table: what the hash is in it. */
const Mark = { Hidden: 1, Shown: 2 } as const;

/** A change that is to be written: the hash, four words, and the last epoch in which it is, or was, hidden. */
export interface HiddenChange {
  readonly hash: Uint32Array;
  readonly until: number;
  readonly hidden: boolean;
}

/**
 * Items that were forgotten in a list of layers that ages, while others kept all their cells live: by hash, exactly. Each is kept
 * until nothing of it can be left in any of its cells: so long as the one of them that expires first was live when it was forgotten.
 */
export class Hidden {
  /** By the last epoch, modulo CYCLE. */
  private readonly tables = new Array<MarkTable | undefined>(CYCLE).fill(undefined);
  private readonly sizes = new Float64Array(CYCLE);
  /** Of those in a table that were shown since: they are left out when they are most of it. */
  private readonly shown = new Float64Array(CYCLE);
  private epoch = 0;
  /** Not written yet. */
  private changes: HiddenChange[] = [];

  /** See Sizes. */
  constructor(private readonly shownPerTable: number) {}

  /** How many there are. */
  get size(): number {
    let size = 0;
    for (const some of this.sizes) size += some;
    return size;
  }

  has(words: Uint32Array, at: number): boolean {
    for (let slot = 0; slot < CYCLE; slot++) {
      if ((this.sizes[slot] as number) > 0 && this.tables[slot]?.get(words, at) === Mark.Hidden) return true;
    }
    return false;
  }

  /** Hides an item up to the epoch so many after the present. */
  hide(words: Uint32Array, at: number, epochs: number): void {
    const until = this.epoch + epochs;
    this.restore(words, at, until);
    this.changes.push({ hash: words.slice(at, at + 4), until, hidden: true });
  }

  /** Hides an item again that is written already. */
  restore(words: Uint32Array, at: number, until: number): void {
    const slot = until % CYCLE;
    const table = (this.tables[slot] ??= new MarkTable());
    const mark = table.get(words, at);
    if (mark === Mark.Hidden) return;
    if (mark === Mark.Shown) this.shown[slot] = (this.shown[slot] as number) - 1;
    table.set(words, at, Mark.Hidden);
    this.sizes[slot] = (this.sizes[slot] as number) + 1;
  }

  /** Whether the item was hidden. */
  show(words: Uint32Array, at: number): boolean {
    let was = false;
    for (let epochs = 0; epochs < CYCLE; epochs++) {
      const until = this.epoch + epochs;
      const slot = until % CYCLE;
      if ((this.sizes[slot] as number) === 0 || this.tables[slot]?.get(words, at) !== Mark.Hidden) continue;
      this.tables[slot].set(words, at, Mark.Shown);
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
    const kept = new MarkTable();
    this.tables[slot]?.forEach((words, at, mark) => {
      if (mark === Mark.Hidden) kept.set(words, at, mark);
    });
    this.tables[slot] = kept;
    this.shown[slot] = 0;
  }

  /** Goes on to an epoch, and lets go of those that were hidden until before it. */
  advance(epoch: number): void {
    for (let past = Math.max(this.epoch, epoch - CYCLE); past < epoch; past++) {
      this.tables[past % CYCLE] = undefined;
      this.sizes[past % CYCLE] = 0;
      this.shown[past % CYCLE] = 0;
    }
    this.epoch = Math.max(this.epoch, epoch);
  }

  /** What has changed since this was last called. */
  takeChanges(): readonly HiddenChange[] {
    const { changes } = this;
    if (changes.length > 0) this.changes = [];
    return changes;
  }

  /** Calls `visit` for each, with an array that has its hash from `at` on. */
  forEach(visit: (words: Uint32Array, at: number, until: number) => void): void {
    for (let epochs = 0; epochs < CYCLE; epochs++) {
      const until = this.epoch + epochs;
      this.tables[until % CYCLE]?.forEach((words, at, mark) => {
        if (mark === Mark.Hidden) visit(words, at, until);
      });
    }
  }
}
