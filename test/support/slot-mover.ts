import { setTimeout as sleep } from 'node:timers/promises';
import calculateSlot from 'cluster-key-slot';
import type { CatalogueEntry } from '../../libs/store/src/redis/entry.js';
import { CATALOGUE } from '../../libs/store/src/redis/keys.js';
import { withClient } from './redis-failover.js';
import type { RedisServer } from './redis-server.js';
import { moveSlots } from './redis-slots.js';

/** How long a slot stays half moved, in ms. During that time calls meet it on either side. */
const HALF_WAY_MS = 15;
/** The newest filters are those in use, or being made. */
const NEWEST = 2;

/**
 * Moves slots around a cluster's masters while it runs: again and again that of the catalogue and those of the newest
 * filters.
 */
export class SlotMover {
  movedSlots = 0;
  movedKeys = 0;
  private running = true;
  private holds = 0;
  private working: Promise<void>;

  constructor(private readonly masters: readonly RedisServer[]) {
    this.working = this.work();
  }

  /** Runs `act` while every slot stays where it is. */
  async still<T>(act: () => Promise<T>): Promise<T> {
    this.holds++;
    await this.working;
    try {
      return await act();
    } finally {
      this.holds--;
      if (this.holds === 0) this.working = this.work();
    }
  }

  async stop(): Promise<void> {
    this.running = false;
    await this.working;
  }

  private async work(): Promise<void> {
    while (this.running && this.holds === 0) {
      const owned = await Promise.all(this.masters.map((master) => this.busySlots(master)));
      for (const [at, slots] of owned.entries()) await this.moveOn(at, slots);
      await sleep(HALF_WAY_MS);
    }
  }

  private async moveOn(at: number, slots: readonly number[]): Promise<void> {
    const [from, to] = [this.masters[at], this.masters[(at + 1) % this.masters.length]];
    if (!from || !to) throw new RangeError(`there is no master ${at}`);
    for (const slot of slots) {
      if (!this.running || this.holds > 0) return;
      this.movedKeys += await moveSlots(from, to, [slot], () => sleep(HALF_WAY_MS));
      this.movedSlots++;
    }
  }

  /** The slots in use that this master serves. */
  private async busySlots(master: RedisServer): Promise<number[]> {
    const catalogue = calculateSlot(CATALOGUE.filters);
    // Two of them may be one.
    const slots = [...new Set([catalogue, ...(await this.newestSlots())])];
    const ranges = await withClient(master, async (client) => {
      const id = String(await client.call('CLUSTER', 'MYID'));
      const line = String(await client.call('CLUSTER', 'NODES'))
        .split('\n')
        .find((one) => one.startsWith(id));
      return (line?.split(' ').slice(8) ?? []).map((range) => range.split('-').map(Number));
    });
    return slots.filter((slot) => ranges.some(([first = -1, last = first]) => slot >= first && slot <= last));
  }

  private async newestSlots(): Promise<number[]> {
    const found = await Promise.all(
      this.masters.map((master) =>
        withClient(master, (client) => client.hvals(CATALOGUE.filters).catch(() => [])),
      ),
    );
    return found
      .flat()
      .filter((text) => text !== '')
      .map((text) => JSON.parse(text) as CatalogueEntry)
      .sort((a, b) => b.createdAt - a.createdAt)
      .slice(0, NEWEST)
      .flatMap(({ tags }) => tags.slice(0, 4))
      .map((tag) => calculateSlot(tag));
  }
}
