import { setTimeout as sleep } from 'node:timers/promises';
import calculateSlot from 'cluster-key-slot';
import { Redis } from 'ioredis';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import type { RedisServer } from './redis-server.js';
import { moveSlots } from './redis-slots.js';

/** How long a slot stays half moved, in ms, so that calls reach it on both masters. */
const HALF_WAY_MS = 15;
/**
 * Between rounds, all slots stay put until the masters have executed this many scripts, however slow the machine is.
 * Otherwise a copy of a queue, which begins anew if its slot moves, might never end.
 */
const SCRIPTS_A_REST = 60;
/** The mover checks that at this interval, in ms. After ten checks without a new script, no call needs the rest. */
const REST_MS = 50;
const IDLE_CHECKS = 10;
/** The newest filters are those that tests use or create. */
const NEWEST = 2;

/** Keeps moving the catalogue's and the newest filters' slots from master to master in a running cluster. */
export class SlotMover {
  movedSlots = 0;
  movedKeys = 0;
  private running = true;
  private holds = 0;
  private working: Promise<void>;
  private readonly masters: readonly { readonly port: number; readonly client: Redis }[];

  constructor(servers: readonly RedisServer[]) {
    this.masters = servers.map(({ port }) => ({ port, client: new Redis(port, '127.0.0.1') }));
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
    for (const { client } of this.masters) client.disconnect();
  }

  private async work(): Promise<void> {
    while (this.running && this.holds === 0) {
      const busy = await this.busySlots();
      const owned = await Promise.all(this.masters.map(({ client }) => slotsOf(client, busy)));
      for (const [at, slots] of owned.entries()) await this.moveOn(at, slots);
      await this.rest();
    }
  }

  private async rest(): Promise<void> {
    const first = await this.scripts();
    let last = first;
    for (let idle = 0; idle < IDLE_CHECKS && last < first + SCRIPTS_A_REST;) {
      await sleep(REST_MS);
      if (!this.running || this.holds > 0) return;
      const now = await this.scripts();
      idle = now === last ? idle + 1 : 0;
      last = now;
    }
  }

  /** The number of scripts that the masters have executed. */
  private async scripts(): Promise<number> {
    const stats = await Promise.all(this.masters.map(({ client }) => client.info('commandstats')));
    const calls = stats.flatMap((text) => [...text.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)]);
    return calls.reduce((sum, [, count]) => sum + Number(count), 0);
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

  /** The catalogue's and the newest filters' slots, without duplicates. */
  private async busySlots(): Promise<number[]> {
    const found = await Promise.all(
      this.masters.map(({ client }) => client.hvals(CATALOGUE.filters).catch(() => [])),
    );
    const newest = found
      .flat()
      .filter((text) => text.startsWith('{'))
      // Hundreds of entries are read in every round, so only the newest are parsed.
      .map((text) => ({ text, createdAt: Number(/"createdAt":(\d+)/.exec(text)?.[1]) }))
      .sort((a, b) => b.createdAt - a.createdAt)
      .slice(0, NEWEST)
      .flatMap(({ text }) => (JSON.parse(text) as CatalogueEntry).tags.slice(0, 4))
      .map((tag) => calculateSlot(tag));
    return [...new Set([calculateSlot(CATALOGUE.filters), ...newest])];
  }
}

/** The slots in `slots` that a master serves. */
async function slotsOf(client: Redis, slots: readonly number[]): Promise<number[]> {
  const id = String(await client.call('CLUSTER', 'MYID'));
  const line = String(await client.call('CLUSTER', 'NODES'))
    .split('\n')
    .find((one) => one.startsWith(id));
  const ranges = (line?.split(' ').slice(8) ?? []).map((range) => range.split('-').map(Number));
  return slots.filter((slot) => ranges.some(([first = -1, last = first]) => slot >= first && slot <= last));
}
