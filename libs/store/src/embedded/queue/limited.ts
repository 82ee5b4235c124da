import type { Positions } from '#bloom';
import { Added } from '../../port/index.js';
import type { HostLanes } from './host-lanes.js';

/** The members of HostLanes that limit discoveries. */
type Limits = Pick<HostLanes, 'room' | 'roomOf'>;

/**
 * Returns Added.Limited for each new item that would exceed its host's `maxUrls` or the queue's limit on hosts, and 0
 * for all other items. Undefined if it limits no item. `present` finds the items that aren't new. Copies of an item
 * count once and get the same answer.
 */
export function limited(
  lanes: Limits,
  positions: Positions,
  present: () => Uint8Array,
): Uint8Array | undefined {
  const { count, hash, host } = positions;
  if (!host) return undefined;
  let { hosts } = lanes.room;
  if (!lanes.room.limitsUrls && hosts >= count) return undefined;
  const isPresent = present();
  const answers = new Uint8Array(count);
  /** The new items so far, and the room left for each of their hosts. */
  const items = new Set<string>();
  const rooms = new Map<string, number>();
  let found = false;
  for (let i = 0; i < count; i++) {
    if (isPresent[i] === 1) continue;
    const item = hash.subarray(4 * i, 4 * i + 4).join();
    if (items.has(item)) continue;
    const [first, second] = [host[2 * i] as number, host[2 * i + 1] as number];
    const name = `${first} ${second}`;
    let room = rooms.get(name);
    if (room === undefined) {
      const { urls, stored } = lanes.roomOf(first, second);
      room = stored || hosts > 0 ? urls : 0;
      if (!stored && room > 0) hosts--;
    }
    if (room > 0) items.add(item);
    else {
      answers[i] = Added.Limited;
      found = true;
    }
    rooms.set(name, Math.max(0, room - 1));
  }
  return found ? answers : undefined;
}
