import { COUNT_DUE, moveDue } from './due.js';
import { HOST_LANES } from './host-lanes.js';
import { LANE_RECORDS, setSettings } from './lane-records.js';
import { chunkOf } from './lanes.js';
import { bringBack, leases, marks, TIDY } from './queue-moves.js';
import {
  CHECK_QUEUE_CHANGE,
  checkQueue,
  openChanged,
  queueChangeKeys,
  queueReadKeys,
  recordQueue,
} from './queue-state.js';
import { ALLOW_OOM, NOW, RECALL, type Script } from './script.js';

/* Scripts for one host of a per-host queue. */

/** See setHostScript. */
export const MORE_DUE = 'more';

/**
 * Replaces a host's settings. ARGV:
 *
 *    9 lane id
 *   10 host name
 *   11 settings (6 bytes each)
 *   12 attempts that make a dead letter (0: no limit)
 *   13 '1' if all due entries must be brought back first
 *   14 the set's limits
 *
 * Returns the lane as listLanesScript does, '' if the queue has the maximum number of hosts, or MORE_DUE if it has only
 * brought back entries.
 */
export const setHostScript: Script = {
  name: 'unseenSetHost',
  numberOfKeys: queueChangeKeys(true),
  moreKeys: true,
  lua: `${CHECK_QUEUE_CHANGE}${RECALL}${openChanged(true)}${HOST_LANES}${marks(true)}
${bringBack(true, 'ARGV[12]')}${leases(true)}${moveDue(true)}${COUNT_DUE}
queue.lanesOf({ARGV[9]})
local lane = lanes[ARGV[9]]
if not lane.stored and queue.hosts >= maxHosts then return {'', tonumber(kept[2])} end
-- Leases that have ended delay the host by its previous settings.
local more = queue.moveDue()
queue.flush()
if more and ARGV[13] == '1' then
  queue.save()
  return {'${MORE_DUE}', tonumber(kept[2])}
end
queue.use(lane.id)
if lane.name == '' then lane.name = ARGV[10] end
${setSettings('ARGV[11]', '1')}
lane.readyAt = math.min(lane.readyAt, queueTime + limitOf(lane.ownDelayMs, delayMs))
-- The lane may be due sooner now.
lane.served = lane.waiting > 0 and lane.dueAt > queueTime
queue.flush()
if lane.waiting > 0 then queue.wake() end
queue.countDue({lane.id})
local packed = recordOf(lane)
local answers = pack('>I6I6I6', now, queue.aheadMs, queue.turn) .. lane.id .. pack('>I2', #packed) .. packed
${recordQueue(true)}
return {answers, tonumber(kept[2])}`,
};

/** Drops the entries, even if no sync has kept them. */
export const DROP_UNKEPT = 'unkept';
/** Names a sync's copy of a host's entries: the server's run id and the segment's token. */
export type HostCopy = `${string} ${string}`;

/**
 * Drops a host's entries. ARGV: 9 lane id, 10 '', DROP_UNKEPT or, if a sync has kept the entries, the name of that copy
 * (HostCopy), 11 the set's limits. Returns '' if a sync must keep the entries first. Otherwise, returns "<entries>
 * <from> <to>", and dropChunksScript must then delete the chunks of normal entries between these two numbers. A sweep
 * deletes the chunks of other priorities.
 */
export const dropHostScript: Script = {
  name: 'unseenDropHost',
  numberOfKeys: queueChangeKeys(true),
  moreKeys: true,
  lua: `${ALLOW_OOM}${CHECK_QUEUE_CHANGE}${RECALL}${openChanged(true)}${HOST_LANES}
queue.lanesOf({ARGV[9]})
local lane = lanes[ARGV[9]]
local held, from = heldIn(lane), lane.head
if queue.owing and held > lane.scheduled and ARGV[10] ~= '${DROP_UNKEPT}' then
  -- A failover may have lost entries that were kept under an earlier run.
  local run = string.match(call('INFO', 'server'), 'run_id:(%x+)')
  if ARGV[10] ~= run .. ' ' .. ARGV[1] then return {'', tonumber(kept[2])} end
end
if held > 0 then
  queue.use(lane.id)
  setInGroup(lane, 'dropped', queue.clock)
  setInGroup(lane, 'droppedLeased', inProgress(lane))
  -- Advance the clock, so that each drop has its own time.
  queue.set('dropped', queue.clock)
  queue.set('clock', queue.clock + 1)
  queue.set('leased', queue.leased - lane.leased)
  queue.set('delayedVoid', queue.delayedVoid + lane.delayed)
  queue.set('scheduledVoid', queue.scheduledVoid + lane.scheduled)
  queue.set('deadVoid', queue.deadVoid + lane.dead)
  lane.waiting, lane.leased, lane.delayed, lane.scheduled, lane.dead = 0, 0, 0, 0, 0
  for priority = 0, lane.logs and 2 or 0 do
    local log = logOf(lane, priority)
    log.head, log.headAt = log.next, 0
  end
  queue.flush()
end
${TIDY}
local answers = string.format('%.0f %.0f %.0f', held, from, lane.head)
${recordQueue(true)}
return {answers, tonumber(kept[2])}`,
};

/**
 * One step of a scan over all lanes, which deletes those that count nothing. Call it after a sync, because then
 * different URLs of a host count. KEYS: 3 and on, the queue's. ARGV: 3 cursor, '0' at first, 4 approximate number of
 * lanes to read, 5 the set's limits. Returns the next cursor, '0' at the end.
 */
export const renewLanesScript: Script = {
  name: 'unseenRenewLanes',
  numberOfKeys: queueReadKeys(true),
  lua: `${ALLOW_OOM}${checkQueue(true)}${NOW}${HOST_LANES}
local scan, ids = call('HSCAN', queue.laneKey, ARGV[3], 'COUNT', ARGV[4]), {}
for n = 1, #scan[2], 2 do
  if scan[2][n] ~= '' then ids[#ids + 1] = scan[2][n] end
end
queue.lanesOf(ids)
for n = 1, #ids do
  local lane = lanes[ids[n]]
  if heldIn(lane) == 0 and lane.dueAt == 0 then queue.use(lane.id) end
end
queue.flush()
queue.save()
return scan[1]`,
};

/** Maximum number of chunks that one script deletes. */
export const CHUNKS_DROPPED = 200;

/**
 * Deletes the chunks that dropHostScript names. The next sweep deletes any that this misses. KEYS: 3 and on, the
 * queue's. ARGV: 3 lane id, 4 number of the first chunk, 5 the number after the last one.
 */
export const dropChunksScript: Script = {
  name: 'unseenDropChunks',
  numberOfKeys: queueReadKeys(true),
  lua: `${ALLOW_OOM}${checkQueue(true)}${LANE_RECORDS}
queue.lanesOf({ARGV[3]})
local lane, fields = lanes[ARGV[3]], {}
-- If the lane was re-created, a sweep has deleted these chunks.
for number = tonumber(ARGV[4]), math.min(tonumber(ARGV[5]), lane.head) - 1 do fields[#fields + 1] = ${chunkOf('lane', 'number')} end
each('HDEL', queue.chunks, fields)
return {'', tonumber(kept[2])}`,
};
