import { itemOf, ITEMS } from './items.js';
import { AgedLayers } from './layers.js';
import type { SetModel } from './set-model.js';

/** As in export-parts.ts: after this many removals, an export may have an item that is neither removed nor queued. */
const ATTEMPTS = 3;
const NUMBERS = Array.from(ITEMS.keys());

interface Sighting {
  readonly set: SetModel;
  readonly changes: number;
  readonly now: number;
  readonly has: readonly boolean[];
  /** In a set that ages: its layers at that time. */
  readonly layers: AgedLayers | undefined;
  readonly queued: readonly boolean[];
  readonly added: number;
  readonly removed: number;
}

/** What a copy of a set contains. */
export interface Contents {
  readonly found: readonly string[];
  /** Each text begins with an item and a space. */
  readonly queued: readonly string[];
  readonly added: number;
}

/** A set's states during a call that reads it piece by piece. */
export class Sightings {
  private readonly all: Sighting[] = [];
  /** The copy's time. */
  private readonly clock = { now: 0 };

  look(set: SetModel, now: number): void {
    const { changes, tally } = set;
    const last = this.all.at(-1);
    if (last?.set === set && last.changes === changes && last.now === now) return;
    const has = NUMBERS.map((n) => set.layers.has(itemOf(n)));
    const entries = set.queue?.entries ?? [];
    const queued = NUMBERS.map((n) => entries.some(({ item }) => item === itemOf(n)));
    const layers = set.layers instanceof AgedLayers ? set.layers.copy(set.filter, this.clock) : undefined;
    this.all.push({ set, changes, now, has, layers, queued, added: tally.added, removed: tally.removed });
  }

  /** The set, if it did not change during the call. */
  get unchanged(): SetModel | undefined {
    const [first] = this.all;
    // A sync's commit gives a set other layers, which an export doesn't see.
    const isSame = this.all.length === 1 && first?.set.changes === first?.changes;
    return isSame ? first?.set : undefined;
  }

  /** What in these contents contradicts every state. Undefined if nothing does. */
  contradicting({ found, queued, added }: Contents, now: number): string | undefined {
    const { all } = this;
    this.clock.now = now;
    const [first, last] = [all[0], all.at(-1)];
    if (!first || !last || added < first.added || added > last.added) return `${added} added`;
    for (const n of NUMBERS) {
      const item = itemOf(n);
      const isFound = found.includes(item);
      const isQueued = queued.some((entry) => entry.startsWith(`${item} `));
      if (isFound && !all.some(({ has }) => has[n])) return `${item}, which was never there`;
      // An item that later calls keep alive may be gone in a copy of an earlier state.
      const stays = all.every(({ has, layers }) => has[n] && (layers?.has(item) ?? true));
      if (!isFound && stays) return `no ${item}, which was always there`;
      if (isQueued && !all.some((one) => one.queued[n])) return `${item} queued, which never was`;
      if (!isQueued && all.every((one) => one.queued[n])) return `${item} not queued, which always was`;
      const isLost = isFound && !isQueued && !all.some((one) => one.has[n] && !one.queued[n]);
      if (isLost && last.removed - first.removed < ATTEMPTS)
        return `${item}, but not queued, as it was all the while`;
    }
    return undefined;
  }
}
