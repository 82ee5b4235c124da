interface Waiting {
  readonly items: number;
  readonly enter: () => void;
}

/**
 * Hands changes to the database in portions. After a commit, the database runs all changes it has been handed in one
 * turn. A portion limits how many these are, and the rest wait for the next commit.
 */
export class Portions {
  private readonly waiting: Waiting[] = [];
  /** Number of items in changes that have been handed over but haven't run yet. */
  private items = 0;
  private releasing = false;

  /** See `itemsPerTurn` in database/sizes.ts. */
  constructor(private readonly most: number) {}

  /**
   * Resolves when a change of `items` items may be handed over, in order of arrival. The caller calls the returned
   * function when the change has run. A second call is a no-op.
   */
  async enter(items: number): Promise<() => void> {
    if (this.waiting.length > 0 || this.releasing || this.items >= this.most) {
      await new Promise<void>((enter) => this.waiting.push({ items, enter }));
    } else {
      this.items += items;
    }
    let inside = true;
    return () => {
      if (inside) this.leave(items);
      inside = false;
    };
  }

  private leave(items: number): void {
    this.items -= items;
    if (this.items > 0 || this.waiting.length === 0 || this.releasing) return;
    this.releasing = true;
    // Not immediately: while changes run, a change that is handed over would run in the same turn.
    setImmediate(() => this.release());
  }

  private release(): void {
    this.releasing = false;
    while (this.items < this.most) {
      const next = this.waiting.shift();
      if (next === undefined) return;
      this.items += next.items;
      next.enter();
    }
  }
}
