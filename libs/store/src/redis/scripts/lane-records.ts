import type { HostSettings } from '../../port/index.js';
import { newLogs } from './queue-state.js';

/*
 * The lane records of a per-host queue: lane id (8 bytes) -> record. A record has
 *
 *   LANE_NUMBERS | 1 byte: a bit for each group that follows | the numbers of these groups | the name of the host
 *
 * Each number has 6 bytes. If a record doesn't have a group, all the group's numbers are 0. A lease reads and writes
 * many records, and each number costs it time. Few lanes have any group, so for most records it handles only one short
 * list of numbers.
 */

/**
 * The value of field '' in `lanes`. It is too long for the compact form of a small hash (`hash-max-listpack-value` is
 * 64 bytes by default). In that form, Redis would search the whole list for each lane.
 */
export const NO_LANE = '-'.repeat(65);

/**
 * The numbers of every record: entries by state; the chunks (lanes.ts); `readyAt`, before which no entry may be leased;
 * and the place in `due`, or 0.
 */
export const LANE_NUMBERS = [
  ...(['waiting', 'leased', 'head', 'headAt', 'next'] as const),
  ...(['readyAt', 'dueAt', 'turn'] as const),
];

/**
 * At most 8 groups, whose order must not change.
 *
 * - The host's settings. Nothing is leased before `blockedUntil` (clock time, in ms since the epoch). The host's own
 *   limits are stored plus one; 0 means the set's limit.
 * - Scheduled entries.
 * - The logs of high and of low entries (lanes.ts).
 * - Entries that were created by the time `dropped` of the queue's clock are dropped. They count in no state, though
 *   some may still be stored, `droppedLeased` of them in leases. Once a sweep has passed all places, none are left, and
 *   `dropped` is 0 again.
 * - `kept` URLs of the host are in the layers of the sync whose first layer has the number `keptBase`. In a set that
 *   ages, `found` counts URLs of the layers whose first one has the number `countedBase`.
 * - Delayed entries, and dead letters.
 * - Discoveries minus forgotten ones, counted in this `period`.
 */
export const LANE_GROUPS = [
  ['blockedUntil', 'ownDelayMs', 'ownMaxLeased', 'ownMaxUrls'] as const,
  ['scheduled'] as const,
  ['highHead', 'highHeadAt', 'highNext'] as const,
  ['lowHead', 'lowHeadAt', 'lowNext'] as const,
  ['dropped', 'droppedLeased'] as const,
  ['kept', 'keptBase', 'countedBase'] as const,
  ['delayed', 'dead'] as const,
  ['found', 'period'] as const,
] as const;

const [SETTINGS] = LANE_GROUPS;

/**
 * Value of `lane.groups` once a number of a group was set. Until the record is packed, any group may then have numbers
 * other than 0.
 */
const ANY_GROUP = 255;

type LaneNumber = (typeof LANE_NUMBERS)[number] | (typeof LANE_GROUPS)[number][number];

/** A record, unpacked. */
export type LaneRecord = Readonly<Record<LaneNumber, number>> & { readonly name: string };

const NUMBER_BYTES = 6;
const GROUPS_AT = LANE_NUMBERS.length * NUMBER_BYTES;
const formatOf = (numbers: readonly string[]): string => `>${'I6'.repeat(numbers.length)}`;
const fieldsOf = (numbers: readonly string[]): string => numbers.map((name) => `lane.${name}`).join(', ');

/** In Lua, `turn` stays as 6 bytes, because packing a number costs as much as several function calls. */
const STORED = [...LANE_NUMBERS, 'groups'];
const FORMAT = `>${LANE_NUMBERS.map((name) => (name === 'turn' ? 'c6' : 'I6')).join('')}B`;

/**
 * Lua that reads lanes. `queue.lanesOf` reads any number of lanes by their ids into `lanes`. `laneOf` returns the id of
 * an entry's lane, `isDropped` whether an entry of a lane was dropped, `logOf` a log of a lane, and `placeOf` a chunk's
 * lane, log and number.
 */
export const LANE_RECORDS = `
local lanes = {}
local NO_RECORD = string.rep('\\0', ${GROUPS_AT + 1})
local NO_GROUPS = {__index = {${LANE_GROUPS.flat()
  .map((name) => `${name} = 0`)
  .join(', ')}}}
local function laneOf(entry) return sub(entry, 15, 18) .. sub(entry, 35, 38) end
local function isDropped(lane, entry) return lane.dropped > 0 and unpacked('>I6', entry, 5) <= lane.dropped end
-- Returns the position of the name.
local function readGroups(lane, record)
  local at, groups = ${GROUPS_AT + 2}, lane.groups
${LANE_GROUPS.map(
  (names, n) => `  if groups % ${2 ** (n + 1)} >= ${2 ** n} then
    ${fieldsOf(names)} = unpacked('${formatOf(names)}', record, at)
    at = at + ${names.length * NUMBER_BYTES}
  end`,
).join('\n')}
  if lane.highNext + lane.lowNext > 0 then
    local logs = ${newLogs('lane.id')}
    logs[1].head, logs[1].headAt, logs[1].next = lane.highHead, lane.highHeadAt, lane.highNext
    logs[2].head, logs[2].headAt, logs[2].next = lane.lowHead, lane.lowHeadAt, lane.lowNext
    lane.logs = logs
  end
  return at
end
local function logOf(lane, log)
  return log == 0 and lane or (lane.logs or ${newLogs('lane.id')})[log]
end
local function placeOf(field)
  local lane, isOther = lanes[sub(field, 1, 8)], #field > 14
  return lane, logOf(lane, isOther and byte(field, 9) or 0), (unpacked('>I6', field, isOther and 10 or 9))
end
function queue.lanesOf(ids)
  local missing = {}
  for n = 1, #ids do
    if lanes[ids[n]] == nil then missing[#missing + 1], lanes[ids[n]] = ids[n], false end
  end
  for from = 1, #missing, 1000 do
    local records = call('HMGET', queue.laneKey, unpack(missing, from, math.min(#missing, from + 999)))
    for n = 1, #records do
      local record, id = records[n], missing[from + n - 1]
      local ${STORED.join(', ')} = unpacked('${FORMAT}', record or NO_RECORD)
      -- Set all fields at once: a table that grows field by field is reallocated again and again.
      local lane = setmetatable({id = id, name = '', stored = record and true or false, storedWaiting = waiting, used = false,
        served = false, ${STORED.map((name) => `${name} = ${name}`).join(', ')}}, NO_GROUPS)
      if record then lane.name = sub(record, groups > 0 and readGroups(lane, record) or ${GROUPS_AT + 2}) end
      lanes[id] = lane
    end
  end
end
`;

/** Lua: `recordOf` packs a lane, and `setInGroup` sets a number of a group. Needs LANE_RECORDS. */
export const PACK_LANE = `
local function setInGroup(lane, name, value) lane[name], lane.groups = value, ${ANY_GROUP} end
local function packGroups(lane)
  local groups, parts = 0, ''
${LANE_GROUPS.map(
  (names, n) => `  if ${fieldsOf(names).replaceAll(', ', ' + ')} > 0 then
    groups, parts = groups + ${2 ** n}, parts .. pack('${formatOf(names)}', ${fieldsOf(names)})
  end`,
).join('\n')}
  lane.groups = groups
  return parts
end
local function recordOf(lane)
  local logs = lane.logs
  if logs then
    lane.highHead, lane.highHeadAt, lane.highNext = logs[1].head, logs[1].headAt, logs[1].next
    lane.lowHead, lane.lowHeadAt, lane.lowNext = logs[2].head, logs[2].headAt, logs[2].next
    lane.groups = ${ANY_GROUP}
  end
  local more = lane.groups > 0 and packGroups(lane) .. lane.name or lane.name
  return pack('${FORMAT}', ${fieldsOf(STORED)}) .. more
end
`;

export const SETTINGS_BYTES = SETTINGS.length * NUMBER_BYTES;

/** Packs a host's settings for `setSettings`. */
export function packSettings({ own = {}, blockedUntil = 0 }: HostSettings): Buffer {
  const { delayMs = -1, maxLeased = -1, maxUrls = -1 } = own;
  const packed = Buffer.alloc(SETTINGS_BYTES);
  for (const [n, number] of [blockedUntil, delayMs + 1, maxLeased + 1, maxUrls + 1].entries())
    packed.writeUIntBE(number, n * NUMBER_BYTES, NUMBER_BYTES);
  return packed;
}

/** Lua that replaces the settings of `lane`. Needs PACK_LANE. */
export const setSettings = (packed: string, at: string): string =>
  `${fieldsOf(SETTINGS)} = unpacked('${formatOf(SETTINGS)}', ${packed}, ${at}) lane.groups = ${ANY_GROUP}`;

/** A host's settings, without those that have no effect. */
export function settingsOf(
  { blockedUntil, ownDelayMs, ownMaxLeased, ownMaxUrls }: LaneRecord,
  now = 0,
): HostSettings {
  const own = {
    ...(ownDelayMs > 0 && { delayMs: ownDelayMs - 1 }),
    ...(ownMaxLeased > 0 && { maxLeased: ownMaxLeased - 1 }),
    ...(ownMaxUrls > 0 && { maxUrls: ownMaxUrls - 1 }),
  };
  return {
    ...(blockedUntil > now && { blockedUntil }),
    ...(Object.keys(own).length > 0 && { own }),
  };
}

/** Unpacks a record. */
export function readLane(record: Buffer): LaneRecord {
  const numbers: Partial<Record<LaneNumber, number>> = {};
  let at = 0;
  for (const name of LANE_NUMBERS) {
    numbers[name] = record.readUIntBE(at, NUMBER_BYTES);
    at += NUMBER_BYTES;
  }
  const groups = record.readUInt8(at++);
  for (const [n, names] of LANE_GROUPS.entries()) {
    const isThere = (groups & (2 ** n)) > 0;
    for (const name of names) {
      numbers[name] = isThere ? record.readUIntBE(at, NUMBER_BYTES) : 0;
      if (isThere) at += NUMBER_BYTES;
    }
  }
  return { ...(numbers as Record<LaneNumber, number>), name: record.toString('utf8', at) };
}
