import { CYCLE } from '../../age.js';
import { dueEntries, TOO_LATE } from './due.js';
import { LANE_RECORDS } from './lane-records.js';
import { OLDEST } from './lanes.js';
import { hasVoid, leases } from './queue-moves.js';
import { checkQueue, queueReadKeys, SCHEDULED } from './queue-state.js';
import { CHECK_SEGMENT, NOW, type Script } from './script.js';
import { IS_LATE } from './unclaimed.js';

/** A description's counts, apart from those of its layers. */
export interface DescribeTask {
  readonly queued: boolean;
  /** The queue has a lane for each host. */
  readonly hosts: boolean;
  readonly ages: boolean;
}

/**
 * The first numbers of a reply. `callerSince` and `madeSince`: the time from which the origin's records are complete,
 * or 0 if none have been dropped.
 */
export const COLUMNS = [
  ...(['now', 'added', 'duplicate', 'removed', 'refused'] as const),
  ...(['callerSince', 'madeSince'] as const),
];

/**
 * If there is a queue, these numbers follow: see QueueStats. Due entries count as waiting. `oldestSeconds`: -1 if no
 * entry waits. `unswept`: 1 if a sweep may have entries to remove. `late`: 1 if this instance must continue another
 * instance's steps (unclaimed.ts).
 */
export const QUEUE_COLUMNS = [
  'waiting',
  'leased',
  'delayed',
  'scheduled',
  'dead',
  'forgotten',
  'oldestSeconds',
  'unswept',
  'late',
] as const;

/** If the queue is per-host, these numbers follow: see HostStats. */
export const HOST_COLUMNS = ['hosts', 'dueHosts', 'blockedHosts'] as const;

/** If the filter ages, these numbers follow: the current epoch, and the number of hidden items. */
export const AGE_COLUMNS = ['epoch', 'hidden'] as const;

/**
 * The number of the open layer follows, then these counts for each layer of the plan. If the filter ages, the numbers
 * of the layer's live cells by last epoch come after its counts.
 */
export const LAYER_COLUMNS = ['items', 'nonZero', 'saturated'] as const;

/** Maximum number of lanes to search for a waiting entry. */
const TURNS_LOOKED_AT = 16;

const COUNTS = `${NOW}
local stats = {now}
local counts = call('HMGET', meta, 'added', 'duplicate', 'removed', 'refused', 'caller:previous', 'made:previous', 'created')
local created = tonumber(table.remove(counts))
for n = 1, #counts do stats[n + 1] = tonumber(counts[n]) end
for n = #stats - 1, #stats do if stats[n] <= created then stats[n] = 0 end end
`;

/** Lua: in the order of turns, finds the first lane with a waiting entry, and when its first entry was discovered. */
const OLDEST_OF_LANES = `
local turns, ids, oldest = call('ZRANGE', queue.turns, 1, ${TURNS_LOOKED_AT}), {}
for n = 1, #turns do ids[n] = sub(turns[n], 7) end
queue.lanesOf(ids)
for n = 1, #ids do
  if not oldest and lanes[ids[n]].waiting > 0 then oldest = queue.oldest(lanes[ids[n]]) end
end`;

/**
 * Lua: subtracts dropped entries from the counts, including dropped entries that are due. If very many entries are due,
 * it checks only the first.
 */
const DROPPED = `
-- Returns which of these entries were dropped, and how many.
local function droppedIn(heads)
  local ids, dropped, count = {}, {}, 0
  if queue.dropped <= queue.sweptDrop then return dropped, count end
  for n = 1, #heads do ids[n] = laneOf(heads[n]) end
  queue.lanesOf(ids)
  for n = 1, #heads do
    if isDropped(lanes[ids[n]], heads[n]) then dropped[n], count = true, count + 1 end
  end
  return dropped, count
end
if queue.dropped > queue.sweptDrop then
  local _, ofDelayed = droppedIn(dueDelayed())
  local _, ofEnded = droppedIn(ended)
  delayed, leased = delayed - ofDelayed, leased + ofEnded
  if scheduledDue > 0 then
    local _, ofScheduled = droppedIn(dueScheduled())
    scheduledDue = scheduledDue - ofScheduled
  end
end
later, scheduled = later - queue.delayedVoid, scheduled - queue.scheduledVoid
letters, leased = letters - queue.deadVoid, math.max(leased, 0)
delayed, scheduledDue = math.min(delayed, later), math.min(scheduledDue, scheduled)
`;

/** Lua: if no entry is waiting, when the entry that has been due for longest was discovered. */
const oldestDue = (hosts: boolean): string => `
if not oldest then
  local firstDue = math.huge
  local function look(entries, times)
    local dropped = ${hosts ? 'droppedIn(entries)' : '{}'}
    for n = 1, #entries do
      if times[n] >= firstDue then return end
      if not dropped[n] then firstDue, oldest = times[n], unpacked('>I4', entries[n], 11) end
    end
  end
  look(ended, endTimes)
  if delayed > 0 then look(dueDelayed(${hosts ? '' : '1'})) end
  if scheduledDue > 0 then look(dueScheduled(${hosts ? '' : '1'})) end
end`;

/** Lua: the queue's time is that of HOST_LANES. One member of `turns` is not a turn, and has a negative time. */
const HOST_COUNTS = `
local queueTime = now + queue.aheadMs + math.max(0, queue.seenAt - now)
local dueHosts = call('ZCOUNT', queue.turns, 0, string.format('%.0f', queueTime))
stats[#stats + 1] = queue.hosts
stats[#stats + 1] = dueHosts
stats[#stats + 1] = call('ZCARD', queue.turns) - 1 - dueHosts
`;

const queueCounts = (hosts: boolean): string => `${dueEntries(hosts)}
local delayed, scheduledDue = call('ZCOUNT', queue.delayed, 0, now) + call('ZCOUNT', queue.delayed, ${TOO_LATE}), 0
if queue.scheduled > 0 then
  scheduledDue = call('ZCOUNT', queue.delayed, '${SCHEDULED}', string.format('%.0f', ${SCHEDULED} + now))
end
local ended, endTimes = endedEntries()
local leased = queue.leased - #ended
local later, scheduled, letters = queue.later - queue.scheduled, queue.scheduled, queue.letterCount
${hosts ? `${DROPPED}${OLDEST_OF_LANES}` : 'local oldest = queue.oldest(queue)'}${oldestDue(hosts)}
local age = oldest and math.max(0, math.floor(now / 1000) - oldest) or -1
local queued = {queue.waiting + delayed + scheduledDue + queue.leased - leased, leased, later - delayed, scheduled - scheduledDue,
  letters, sizes[6] + sizes[7] - 2, age, ${hasVoid(hosts)} and 1 or 0, ${IS_LATE} and 1 or 0}
for n = 1, #queued do stats[#stats + 1] = queued[n] end
${hosts ? HOST_COUNTS : ''}`;

/** Layers after the open one hold nothing yet, so they may lack keys. */
const checkPieces = (keysAt: number): string => `
local open, nextKey = tonumber(call('HGET', meta, 'open') or 0), ${keysAt}
for at = 5, #ARGV, 3 do
  local layer, bytes, keyEnd = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), nextKey + ARGV[at + 2]
  for n = nextKey, keyEnd - 1 do
    local size = call('STRLEN', KEYS[n])
    if size ~= bytes and (size ~= 0 or layer <= open) then return redis.status_reply('LOST') end
  end
  nextKey = keyEnd
end
`;

const ageCounts = (hiddenAt: number): string => `
local kept = tonumber(call('HGET', meta, 'epoch') or 0)
local epoch = math.max(kept, math.floor(now / ARGV[4]))
stats[#stats + 1] = epoch
stats[#stats + 1] = call('ZCOUNT', KEYS[${hiddenAt}], string.format('%.0f', epoch), '+inf')`;

const ringCounts = `
  local ring = call('HGET', meta, 'ring' .. suffix) or ''
  for left = 0, ${CYCLE - 1} do
    local isKept = ring ~= '' and epoch + left < kept + ${CYCLE}
    stats[#stats + 1] = isKept and struct.unpack('>I4', ring, (epoch + left) % ${CYCLE} * 4 + 1) or 0
  end`;

/**
 * A segment's counts, as a flat list of numbers.
 *
 * KEYS, from 3: the queue's if the reply includes the queue, then the hidden items if the filter ages, then pieces of
 * layers.
 *
 * ARGV: 3 number of layers in the plan, 4 ms of an epoch, then for each layer with pieces among KEYS its number, the
 * bytes of a piece, and the number of pieces.
 */
export function describeScript({ queued, hosts, ages }: DescribeTask): Script {
  const hiddenAt = 1 + (queued ? queueReadKeys(hosts) : 2);
  return {
    name: `unseenDescribe${queued ? 'Queued' : ''}${hosts ? 'Hosts' : ''}${ages ? 'Aged' : ''}`,
    verb: 'describe',
    numberOfKeys: hiddenAt - 1 + (ages ? 1 : 0),
    moreKeys: true,
    lua: `${queued ? `${checkQueue(hosts)}${hosts ? LANE_RECORDS : ''}${OLDEST}${leases(false)}` : CHECK_SEGMENT}${checkPieces(hiddenAt + (ages ? 1 : 0))}${COUNTS}${queued ? queueCounts(hosts) : ''}${
      ages ? ageCounts(hiddenAt) : ''
    }
stats[#stats + 1] = open
for layer = 0, ARGV[3] - 1 do
  local suffix = layer == 0 and '' or ':' .. layer
  local found = call('HMGET', meta, 'items' .. suffix, 'nonzero' .. suffix, 'saturated' .. suffix)
  for n = 1, #found do stats[#stats + 1] = tonumber(found[n] or 0) end${ages ? ringCounts : ''}
end
return stats`,
  };
}
