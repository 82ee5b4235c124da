import type { Filter, HostView, QueuedHost } from '../../port/index.js';
import { type LaneRecord, readLane, settingsOf } from '../scripts/lane-records.js';

const ID_BYTES = 8;
const NUMBER_BYTES = 6;

export interface Lane extends LaneRecord {
  readonly id: Buffer;
}

/** Lanes, and the times they depend on. */
export interface Lanes {
  /** The clock, in ms since the epoch; how far the queue's time is ahead of it; the last turn. */
  readonly now: number;
  readonly ahead: number;
  readonly turn: number;
  readonly lanes: Lane[];
}

/** The filter parameters that decide which of a host's URLs count. */
type Counting = Pick<Filter, 'maxAgeSeconds' | 'base'>;

/** Unpacks lanes in the format of exportLanesScript. */
export function readLanes(bytes: Buffer): Lanes {
  const [now = 0, ahead = 0, turn = 0] = [0, 6, 12].map((at) => bytes.readUIntBE(at, NUMBER_BYTES));
  const lanes: Lane[] = [];
  for (let at = 3 * NUMBER_BYTES; at < bytes.length;) {
    const recordAt = at + ID_BYTES + 2;
    const end = recordAt + bytes.readUInt16BE(at + ID_BYTES);
    lanes.push({ ...readLane(bytes.subarray(recordAt, end)), id: bytes.subarray(at, at + ID_BYTES) });
    at = end;
  }
  return { now, ahead, turn, lanes };
}

/** A lane for an export. */
export function queuedHostOf(lane: Lane, { now, ahead }: Lanes, filter: Counting): QueuedHost {
  const { name, waiting, dueAt, readyAt } = lane;
  const at = waiting > 0 && dueAt > 0 ? dueAt : readyAt;
  const { present, end } = periodAt(now + ahead, filter);
  return {
    name,
    readyAt: Math.max(0, at - ahead),
    found: foundIn(lane, present, filter),
    foundUntil: Math.max(0, end - ahead),
    ...settingsOf(lane),
  };
}

/** A host as callers see it. Undefined for a lane that only remembers when its host is due. */
export function hostViewOf(
  lane: LaneRecord,
  { now, ahead }: Pick<Lanes, 'now' | 'ahead'>,
  filter: Counting & Pick<Filter, 'perHost'>,
): HostView | undefined {
  const { name, waiting, leased, delayed, scheduled, dead, dueAt } = lane;
  const settings = settingsOf(lane, now);
  const counts = filter.perHost?.maxUrls !== undefined;
  const found = counts ? foundIn(lane, periodAt(now + ahead, filter).present, filter) : 0;
  const held = waiting + leased + delayed + scheduled + dead;
  if (held + found === 0 && !settings.own && settings.blockedUntil === undefined) return undefined;
  return {
    ...{ name, waiting, leased, delayed, scheduled, dead },
    ...(counts && { found }),
    ...(waiting > 0 && dueAt > 0 && { nextAt: Math.max(0, dueAt - ahead) }),
    ...settings,
  };
}

/** The period at this time of the queue, and when it ends (0 if time doesn't end it). */
function periodAt(time: number, { maxAgeSeconds = 0, base }: Counting): { present: number; end: number } {
  const ageMs = maxAgeSeconds * 1_000;
  if (ageMs === 0) return { present: base, end: 0 };
  const present = Math.floor(time / ageMs);
  return { present, end: (present + 1) * ageMs };
}

/** How many of a host's URLs count in a period. */
function foundIn(lane: LaneRecord, present: number, { maxAgeSeconds, base }: Counting): number {
  const { found, period, kept, keptBase, countedBase } = lane;
  const keptHere = keptBase === base ? kept : 0;
  if (maxAgeSeconds === undefined) return period === present ? found : keptHere;
  if (period !== present) return 0;
  return countedBase === base ? found : Math.min(found, keptHere);
}
