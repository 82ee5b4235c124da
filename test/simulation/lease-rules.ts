import type { Entry } from './entry.js';
import type { Lane, LaneCounts, Lanes } from './lanes.js';
import { Violation } from './notes.js';

export interface LeaseLimits {
  readonly max: number;
  readonly maxPerHost?: number | undefined;
}

/** The parts of a queue that a lease looks at. */
interface Waiting {
  readonly lanes: Lanes;
  readonly line: readonly Entry[];
  laneOf(entry: Pick<Entry, 'item'>): Lane;
  countsOf(host: string): LaneCounts;
}

/**
 * The entries for the items that a lease took. Throws Violation if it may not take them, has to take others first, or
 * has to take more.
 */
export function leasable(
  queue: Waiting,
  { max, maxPerHost }: LeaseLimits,
  items: readonly string[],
): Entry[] {
  const { lanes, line } = queue;
  const roomOf = (lane: Lane) => lanes.room(lane, queue.countsOf(lane.host).leased, maxPerHost);
  const taken: Entry[] = [];
  const takenOf = (lane: Lane) => taken.filter((entry) => queue.laneOf(entry) === lane).length;
  const next = (lane: Lane) => line.find((entry) => !taken.includes(entry) && queue.laneOf(entry) === lane);
  const served: Lane[] = [];
  for (const item of items) {
    const lane = queue.laneOf({ item });
    const entry = next(lane);
    if (entry?.item !== item) throw new Violation(`a lease takes ${item}, not ${entry?.item ?? 'nothing'}`);
    if (takenOf(lane) >= roomOf(lane)) throw new Violation(`a lease takes too much of host ${lane.host}`);
    if (served.at(-1) !== lane) served.push(lane);
    taken.push(entry);
  }
  if (taken.length > max) throw new Violation(`a lease takes more than ${max} entries`);
  const left = lanes.all.filter(
    (lane) => !lanes.isUnsure(lane) && next(lane) && takenOf(lane) < roomOf(lane),
  );
  const [first] = left;
  if (taken.length < max && first)
    throw new Violation(`a lease takes only ${taken.length}, though host ${first.host} has more`);
  // Forgotten entries keep their lanes' turns.
  const turns = [...served, ...left.filter((lane) => !served.includes(lane))].filter((lane) => !lane.isVague);
  for (const [n, { host, turnAt = 0 }] of turns.entries()) {
    const early = turns.slice(n + 1).find((lane) => turnAt > (lane.turnAt ?? 0));
    if (early && served.some((lane) => lane.host === host))
      throw new Violation(`a lease serves host ${host} before ${early.host}, whose turn is earlier`);
  }
  return taken;
}
