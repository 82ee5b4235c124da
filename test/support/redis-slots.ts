import type { Redis } from 'ioredis';
import { withClient, type Reached } from './redis-failover.js';

const KEYS_A_STEP = 10;
const MIGRATE_MS = 10_000;

/**
 * Moves slots from one of a cluster's masters to another as `redis-cli --cluster reshard` does. It imports, migrates
 * the keys, then announces. Returns the number of moved keys.
 *
 * @param halfWay called in the middle of each move. One key, if the slot has any, is on the new master, the others on
 *   the old one.
 */
export async function moveSlots(
  from: Reached,
  to: Reached,
  slots: readonly number[],
  halfWay?: () => Promise<void>,
): Promise<number> {
  let moved = 0;
  for (const slot of slots) {
    const move = await openMove(from, to, [slot]);
    if (halfWay) {
      moved += await move.moveKeys(1);
      await halfWay();
    }
    moved += await move.moveKeys();
    await move.close();
  }
  return moved;
}

/** Slots that are being moved. The old master redirects clients to the new one for keys that it no longer has. */
export interface OpenMove {
  /** Moves the existing keys, at most `most` from each slot. Returns the number of moved keys. */
  moveKeys(most?: number): Promise<number>;
  /** Assigns the slots to the new master, which must have all their keys by now. */
  close(): Promise<void>;
}

export async function openMove(from: Reached, to: Reached, slots: readonly number[]): Promise<OpenMove> {
  const [source, target] = await Promise.all([from, to].map(idOf));
  await setSlots(to, slots, 'IMPORTING', source);
  await setSlots(from, slots, 'MIGRATING', target);
  return {
    moveKeys: (most = Infinity) =>
      withClient(from, async (client) => {
        let moved = 0;
        for (const slot of slots) moved += await moveKeysOf(client, to.port, slot, most);
        return moved;
      }),
    async close() {
      // The new owner must know first. Otherwise it may send clients back to the old owner.
      await setSlots(to, slots, 'NODE', target);
      await setSlots(from, slots, 'NODE', target);
    },
  };
}

async function moveKeysOf(source: Redis, port: number, slot: number, most: number): Promise<number> {
  for (let moved = 0; ;) {
    const step = Math.min(most - moved, KEYS_A_STEP);
    const keys = step > 0 ? ((await source.call('CLUSTER', 'GETKEYSINSLOT', slot, step)) as string[]) : [];
    if (keys.length === 0) return moved;
    await source.call('MIGRATE', '127.0.0.1', port, '', 0, MIGRATE_MS, 'KEYS', ...keys);
    moved += keys.length;
  }
}

async function setSlots(
  server: Reached,
  slots: readonly number[],
  state: string,
  node: string | undefined,
): Promise<void> {
  await withClient(server, (client) =>
    Promise.all(slots.map((slot) => client.call('CLUSTER', 'SETSLOT', slot, state, node ?? ''))),
  );
}

async function idOf(server: Reached): Promise<string> {
  return withClient(server, async (client) => String(await client.call('CLUSTER', 'MYID')));
}
