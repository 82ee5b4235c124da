import type { Disk } from '../../libs/store/src/embedded/directory/space.js';
import type {
  Environment,
  RangeOptions,
  ReadOptions,
  ReadTransaction,
  Rows,
} from '../../libs/store/src/embedded/database/environment.js';

/** Keys as text whose code units are the bytes, so they compare in LMDB's order. */
type Key = string;

const keyOf = (key: Buffer): Key => key.toString('latin1');

/** A table of rows in key order. */
class SortedRows {
  readonly keys: Key[] = [];
  readonly values = new Map<Key, Buffer>();

  set(key: Key, value: Buffer | undefined): void {
    const known = this.values.has(key);
    if (value !== undefined) this.values.set(key, value);
    else this.values.delete(key);
    if (known === (value !== undefined)) return;
    const at = this.placeOf(key);
    if (known) this.keys.splice(at, 1);
    else this.keys.splice(at, 0, key);
  }

  *range({ start, end, limit = Infinity }: RangeOptions): Generator<Key, void, undefined> {
    const last = end && keyOf(end);
    const from = start ? this.placeOf(keyOf(start)) : 0;
    const to = last === undefined ? this.keys.length : this.placeOf(last);
    yield* this.keys.slice(from, Math.min(to, from + limit));
  }

  copy(): SortedRows {
    const copy = new SortedRows();
    copy.keys.push(...this.keys);
    for (const [key, value] of this.values) copy.values.set(key, value);
    return copy;
  }

  /** The index of the first key that is not less than this one. */
  private placeOf(key: Key): number {
    let low = 0;
    for (let high = this.keys.length; low < high;) {
      const middle = (low + high) >> 1;
      if ((this.keys[middle] as Key) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The data on the simulated disk. It outlives the environments on it, as files outlive processes. */
export class SimulatedDisk implements Disk {
  readonly tables = new Map<string, SortedRows>();
  full = false;
  /** When a store was last told that the disk is full. */
  toldFullAt = -Infinity;

  constructor(private readonly time: { readonly passed: number }) {}

  freeBytes(): Promise<number> {
    if (this.full) this.toldFullAt = this.time.passed;
    return Promise.resolve(this.full ? 0 : Number.MAX_SAFE_INTEGER);
  }

  refuses(): Promise<boolean> {
    return Promise.resolve(this.full);
  }

  /** Another disk with the same rows. */
  copy(): SimulatedDisk {
    const copy = new SimulatedDisk(this.time);
    for (const [name, table] of this.tables) copy.tables.set(name, table.copy());
    return copy;
  }

  table(name: string): SortedRows {
    let table = this.tables.get(name);
    if (!table) this.tables.set(name, (table = new SortedRows()));
    return table;
  }
}

class TablesRead implements ReadTransaction {
  readonly tables: ReadonlyMap<string, SortedRows>;

  constructor({ tables }: SimulatedDisk) {
    this.tables = new Map(Array.from(tables, ([name, table]) => [name, table.copy()]));
  }

  done(): void {
    return undefined;
  }
}

interface Waiting {
  readonly change: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Undo {
  readonly table: SortedRows;
  readonly key: Key;
  readonly before: Buffer | undefined;
}

/** A row that a transaction has put. */
export interface Put {
  readonly table: string;
  readonly key: Buffer;
  readonly value: Buffer;
  /** There was no row with this key. */
  readonly isNew: boolean;
}

/** The tables whose new rows show a transaction's effects. */
const TOLD: ReadonlySet<string> = new Set(['records', 'dead', 'log', 'leases']);

/** Observes an environment. */
export interface Observer {
  /** A change has run without throwing. */
  ran(puts: readonly Put[]): void;
  /** Everything that has run was committed, or none of it. */
  ended(committed: boolean): void;
}

/**
 * An environment in which the simulation decides when transactions run and commit. Waiting changes run in one turn and
 * share a commit. The callers hear of the commit later, perhaps after other changes have run.
 */
export class MemoryEnvironment implements Environment {
  private waiting: Waiting[] = [];
  private readonly untold: (() => void)[] = [];
  private undo: Undo[] | undefined;
  private puts: Put[] = [];
  private crashed = false;

  constructor(
    private readonly disk: SimulatedDisk,
    private readonly observer: Observer,
  ) {}

  get canRun(): boolean {
    return this.waiting.length > 0;
  }

  get canTell(): boolean {
    return this.untold.length > 0;
  }

  rows(name: string): Rows {
    const current = (options?: ReadOptions): SortedRows => {
      this.assertAlive();
      if (options?.transaction === undefined) return this.disk.table(name);
      return (options.transaction as TablesRead).tables.get(name) ?? new SortedRows();
    };
    const copyOf = (table: SortedRows, key: Key): Buffer => Buffer.from(table.values.get(key) as Buffer);
    return {
      get: (key, options) => {
        const value = current(options).values.get(keyOf(key));
        return value && Buffer.from(value);
      },
      putSync: (key, value, options) => {
        if (options?.noOverwrite && current().values.has(keyOf(key))) return false;
        const copy = Buffer.from(value);
        const isNew = !current().values.has(keyOf(key));
        if (TOLD.has(name)) this.puts.push({ table: name, key: Buffer.from(key), value: copy, isNew });
        this.change(current(), keyOf(key), copy);
        return true;
      },
      removeSync: (key) => {
        const known = current().values.has(keyOf(key));
        if (known) this.change(current(), keyOf(key), undefined);
        return known;
      },
      *getRange(options) {
        const table = current(options);
        for (const key of table.range(options))
          if (table.values.has(key)) yield { key: Buffer.from(key, 'latin1'), value: copyOf(table, key) };
      },
      *getKeys(options) {
        for (const key of current(options).range(options)) yield Buffer.from(key, 'latin1');
      },
    };
  }

  transaction(change: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.crashed) reject(new Error('the process has crashed'));
      else this.waiting.push({ change, resolve, reject });
    });
  }

  /** Runs all waiting changes, and commits them if `commits` is true. `tell` tells the callers. */
  run(commits: boolean): void {
    const batch = this.waiting.splice(0);
    const undone: Undo[] = [];
    const outcomes = batch.map((waiting) => this.runOne(waiting, undone));
    if (!commits) revert(undone);
    this.observer.ended(commits);
    this.untold.push(() => {
      for (const { resolve, reject, error } of outcomes) {
        if (error !== undefined) reject(error);
        else if (commits) resolve();
        else reject(new Error('the disk failed'));
      }
    });
  }

  tell(): void {
    this.untold.shift()?.();
  }

  /** Ends the process: from now on, nothing that it does reaches the disk. */
  crash(): void {
    this.crashed = true;
    for (const { reject } of this.waiting.splice(0)) reject(new Error('the process has crashed'));
    while (this.untold.length > 0) this.tell();
  }

  read(): ReadTransaction {
    this.assertAlive();
    return new TablesRead(this.disk);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private runOne({ change, ...caller }: Waiting, undone: Undo[]) {
    this.undo = [];
    this.puts = [];
    try {
      change();
      this.observer.ran(this.puts);
      undone.push(...this.undo);
      return { ...caller, error: undefined };
    } catch (error) {
      revert(this.undo);
      return { ...caller, error };
    } finally {
      this.undo = undefined;
    }
  }

  private change(table: SortedRows, key: Key, value: Buffer | undefined): void {
    if (!this.undo) throw new Error('a row is changed outside of a transaction');
    this.undo.push({ table, key, before: table.values.get(key) });
    table.set(key, value);
  }

  private assertAlive(): void {
    if (this.crashed) throw new Error('the process has crashed');
  }
}

function revert(undone: Undo[]): void {
  for (const { table, key, before } of undone.reverse()) table.set(key, before);
}
