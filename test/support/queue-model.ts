interface Entry {
  readonly item: string;
  readonly attempt: number;
}

export interface DeadEntry extends Entry {
  readonly reason: string;
}

/** One segment's queue as the port describes it, in arrays. The caller decides when leases and delays end. */
export class QueueModel {
  line: Entry[] = [];
  held: Entry[] = [];
  dead: DeadEntry[] = [];

  constructor(private readonly maxAttempts: number) {}

  discover(items: readonly string[]): void {
    this.line.push(...items.map((item) => ({ item, attempt: 0 })));
  }

  lease(max: number): Entry[] {
    const leased = this.line.splice(0, max).map(({ item, attempt }) => ({ item, attempt: attempt + 1 }));
    this.held.push(...leased);
    return leased;
  }

  /** Removes entries from their leases, to acknowledge or return them. */
  settle(items: readonly string[]): Entry[] {
    return items.flatMap((item) => {
      const at = this.held.findIndex((entry) => entry.item === item);
      return this.held.splice(at, at < 0 ? 0 : 1);
    });
  }

  /** The entries with the attempts from before their leases. */
  uncounted(entries: readonly Entry[]): Entry[] {
    return entries.map(({ item, attempt }) => ({ item, attempt: attempt - 1 }));
  }

  bringBack(entries: readonly Entry[], reason: string): void {
    for (const entry of entries) {
      if (entry.attempt >= this.maxAttempts) this.dead.push({ ...entry, reason });
      else this.line.push(entry);
    }
  }

  putBack(items: readonly string[]): void {
    for (const item of items) {
      const at = this.dead.findIndex((entry) => entry.item === item);
      this.line.push(...this.dead.splice(at, 1).map((entry) => ({ item: entry.item, attempt: 0 })));
    }
  }

  forget(items: ReadonlySet<string>): void {
    const lives = ({ item }: Entry) => !items.has(item);
    this.line = this.line.filter(lives);
    this.held = this.held.filter(lives);
    this.dead = this.dead.filter(lives);
  }

  /** All items that have entries. */
  get items(): string[] {
    return [...this.line, ...this.held, ...this.dead].map(({ item }) => item);
  }

  has(item: string): boolean {
    return this.items.includes(item);
  }
}
