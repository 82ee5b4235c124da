import type { Filter } from '../../port/index.js';
import { SWEEP_AFTER_MS } from '../../sweeping.js';
import { LANE_RECORDS, PACK_LANE } from './lane-records.js';
import { APPEND, chunkOf, takeFrom } from './lanes.js';

/*
 * Lua for the lanes of an open per-host queue: one lane per host. A lane's id is the first two words of the host's
 * hash. The hash of each of the host's items begins with the same first word. So an entry has only the second one (4
 * bytes), before its payload.
 *
 *   lanes          lane id (8 bytes) -> the lane's record (lane-records.ts)
 *   due            turn (6 bytes) .. lane id -> when the lane may be leased from, in the queue's time
 *
 * A lane is in `due` while it has waiting entries and fewer than `maxLeased` entries in progress. An empty lane stays
 * there until its host is due. Otherwise, the host's new entries could be leased too soon. Then the lane's record is
 * deleted, unless it has counts. The queue never reuses a turn, so it serves lanes with the same time in the order in
 * which they joined.
 *
 * The queue's time follows the server's clock. If that clock is set back, the queue's time continues from where it was,
 * so that no lane waits longer than its delay.
 *
 * Dropping a lane's entries stores the latest birth in its record (lane-records.ts): entries born no later are dropped.
 * They stop counting, and every script that finds one discards it. But a dropped entry in a lease is in progress until
 * it leaves the lease, because a worker may be processing it.
 *
 * For this, meta has these numbers:
 *
 *   seenAt         the server's clock at the last change
 *   aheadMs        how far the queue's time is ahead of that clock
 *   turn           the last turn
 *   waiting        number of waiting entries in all lanes
 *   dropped        the birth that the last drop has stored
 *   sweptDrop      sweeps have discarded the entries of all drops up to the one with this birth
 *   sweepingDrop   the current sweep discards the entries of drops up to this one
 *   delayedVoid    number of dropped entries that are stored as delayed; likewise scheduledVoid and deadVoid
 */

/**
 * Maximum number of lanes that one lease takes entries from. Also the maximum number of items or ids in a script on a
 * per-host queue.
 *
 * Must not change after 1.0. Each script of a batch has an operation record, named by the script's number. So a repeat
 * must split the batch as the first attempt did.
 */
export const LANES_PER_SCRIPT = 50;

/** `spread`: number of segments. */
type LimitedFilter = Pick<Filter, 'perHost' | 'maxAgeSeconds' | 'base'> & { readonly spread: number };

/**
 * The last ARGV of scripts that change a per-host queue. `maxHosts`: the set's limit for all segments together.
 * `syncBase`: if the segment takes part in a sync, the number of the sync's first layer.
 */
export function hostLimits(
  { perHost, maxAgeSeconds = 0, base, spread }: LimitedFilter,
  maxHosts: number,
  syncBase = 0,
): string[] {
  if (!perHost) return [];
  const { delayMs = 0, maxLeased = 0, maxUrls = 0 } = perHost;
  const most = Math.ceil(maxHosts / spread);
  return [[delayMs, maxLeased, maxUrls, maxAgeSeconds * 1_000, base, most, syncBase].join(' ')];
}

/**
 * Include it after NOW and the opening of a queue. The last ARGV has the set's limits (hostLimits).
 *
 *   queue.use       marks a lane, which must have been read, as changed. `queue.changes` returns how many are.
 *   queue.count     counts entries in a state of their lanes, or no longer. Dropped entries count only in the queue.
 *   queue.freed     counts that leases of these entries ended at these times
 *   queue.delay     delays the hosts of entries, if they have lanes
 *   queue.add       adds entries at the ends of their lanes. `dueTimes`: when they came due, in order of time.
 *   queue.flush     gives the changed lanes their turns, writes their records, and wakes waiting callers. Call it
 *                   before anything reads `queue.turns` or `queue.waiting`, and before the queue is saved.
 */
export const HOST_LANES = `${LANE_RECORDS}${PACK_LANE}${APPEND}
local limits, used, min, max = {}, {}, math.min, math.max
local NO_TURN = string.rep('\\0', 6)
for number in string.gmatch(ARGV[#ARGV], '%d+') do limits[#limits + 1] = tonumber(number) end
local delayMs, maxLeased, maxUrls, ageMs, base, maxHosts, syncBase = unpack(limits)
if maxLeased == 0 then maxLeased = math.huge end
if now < queue.seenAt then queue.set('aheadMs', queue.aheadMs + queue.seenAt - now) end
queue.seenAt = now
local queueTime = now + queue.aheadMs
local period = ageMs > 0 and math.floor(queueTime / ageMs) or base
local function keptIn(lane, first) return lane.keptBase == first and lane.kept or 0 end
local function foundIn(lane)
  if ageMs > 0 and lane.countedBase ~= base then
    -- A sync was committed, and it also kept URLs from earlier periods.
    setInGroup(lane, 'found', min(lane.found, keptIn(lane, base)))
    setInGroup(lane, 'countedBase', base)
  end
  if lane.period ~= period then
    setInGroup(lane, 'found', ageMs == 0 and keptIn(lane, base) or 0)
    lane.period = period
    if lane.keptBase == base then lane.kept, lane.keptBase = 0, 0 end
  end
  return lane.found
end
local function hasCounts(lane)
  return maxUrls > 0 and (foundIn(lane) > 0 or syncBase > 0 and keptIn(lane, syncBase) > 0)
end
local function limitOf(own, ofSet) return own > 0 and own - 1 or ofSet end
local function heldIn(lane) return lane.waiting + lane.leased + lane.delayed + lane.scheduled + lane.dead end
-- Entries that workers may be processing.
local function inProgress(lane) return lane.leased + lane.droppedLeased end
local function wait(lane, till) lane.readyAt = max(lane.readyAt, till) end
-- The earliest time at which the host's entries may be leased.
local function readyOf(lane)
  if lane.blockedUntil <= now then return lane.readyAt end
  return max(lane.readyAt, lane.blockedUntil + queue.aheadMs)
end
function queue.changes() return #used end
function queue.use(id)
  local lane = lanes[id]
  if not lane.used then lane.used, used[#used + 1] = true, lane end
  return lane
end
local function useEach(entries, act)
  local ids = {}
  for n = 1, #entries do ids[n] = laneOf(entries[n]) end
  queue.lanesOf(ids)
  for n = 1, #ids do act(queue.use(ids[n]), entries[n], n) end
end
function queue.count(entries, state, by)
  useEach(entries, function(lane, entry)
    if isDropped(lane, entry) then queue.set(state .. 'Void', queue[state .. 'Void'] + by)
    else setInGroup(lane, state, lane[state] + by) end
  end)
end
-- Converts a clock time to the queue's time, but to no later than the present.
local function timeAt(at) return queueTime - max(0, now - at) end
-- Notes that an entry of the lane came due then.
local function came(lane, at)
  if lane.storedWaiting == 0 then lane.cameAt = min(lane.cameAt or math.huge, timeAt(at)) end
end
-- Counts that an entry has left its lease. Returns false if it was dropped.
local function free(lane, entry, at)
  local gone, most = isDropped(lane, entry), limitOf(lane.ownMaxLeased, maxLeased)
  if inProgress(lane) >= most then lane.freedAt = timeAt(at) end
  if gone then setInGroup(lane, 'droppedLeased', lane.droppedLeased - 1) else lane.leased = lane.leased - 1 end
  if most == 1 then wait(lane, timeAt(at) + limitOf(lane.ownDelayMs, delayMs)) end
  return not gone
end
function queue.freed(entries, times)
  local count = 0
  useEach(entries, function(lane, entry, n)
    if free(lane, entry, times[n]) then count = count + 1 end
  end)
  if count > 0 then queue.set('leased', queue.leased - count) end
end
function queue.delay(entries, ms)
  useEach(entries, function(lane)
    if lane.stored then wait(lane, queueTime + ms) end
  end)
end
function queue.add(entries, dueTimes)
  local ids, lists, listOf, to, times = {}, {}, {}, {}, {}
  for n = 1, #entries do
    local id = laneOf(entries[n])
    local list = listOf[id]
    if not list then
      list = {}
      ids[#ids + 1], lists[#lists + 1], listOf[id] = id, list, list
      times[#ids] = dueTimes and dueTimes[n]
    end
    list[#list + 1] = entries[n]
  end
  if #ids == 0 then return end
  queue.lanesOf(ids)
  for n = 1, #ids do
    to[n] = queue.use(ids[n])
    if times[n] then came(to[n], times[n]) end
  end
  queue.append(to, lists)
end
-- When the lane has its turn, or 0. With dueSince, which an import sets, this may be in the past.
local function turnOf(lane)
  if inProgress(lane) >= limitOf(lane.ownMaxLeased, maxLeased) then return 0 end
  local readyAt = readyOf(lane)
  if lane.waiting == 0 then
    local ends = ageMs > 0 and maxUrls > 0 and foundIn(lane) > 0 and (period + 1) * ageMs or 0
    -- Keeps the record of a dropped lane until a sweep has removed its entries.
    if lane.dropped > 0 then ends = max(ends, lane.dueAt > queueTime and lane.dueAt or queueTime + ${SWEEP_AFTER_MS}) end
    return max(readyAt > queueTime and readyAt or 0, ends)
  end
  if lane.dueSince then return readyAt end
  -- When the lane could have been served, ignoring its host's delay.
  local servableAt = queueTime
  if lane.served then return max(readyAt, servableAt) end
  if lane.storedWaiting == 0 then servableAt = max(lane.cameAt or servableAt, lane.freedAt or 0)
  else servableAt = lane.dueAt > 0 and lane.dueAt or lane.freedAt or servableAt end
  -- The lane has its turn no earlier than its block ends.
  return max(readyAt, servableAt, min(lane.blockedUntil + queue.aheadMs, queueTime))
end
function queue.flush()
  if #used == 0 then return end
  local records, over, turns, gone, isReady = {}, {}, {}, {}, false
  local turn, waiting, lastAt, lastText = queue.turn, queue.waiting
  for n = 1, #used do
    local lane = used[n]
    if lane.dropped > 0 and lane.dropped <= queue.sweptDrop then lane.dropped = 0 end
    local at = turnOf(lane)
    if at ~= lane.dueAt or lane.served then
      if lane.dueAt > 0 then gone[#gone + 1] = lane.turn .. lane.id end
      lane.dueAt, lane.turn = at, NO_TURN
      if at > 0 then
        turn = turn + 1
        lane.turn = pack('>I6', turn)
        -- Most lanes of a lease get the same time.
        if at ~= lastAt then lastAt, lastText = at, string.format('%.0f', at) end
        turns[#turns + 1], turns[#turns + 2] = lastText, lane.turn .. lane.id
        if at <= queueTime and lane.waiting > 0 then isReady = true end
      end
    end
    waiting = waiting + lane.waiting - lane.storedWaiting
    if lane.waiting > 0 or lane.dueAt > 0 or heldIn(lane) + lane.droppedLeased > 0 or hasCounts(lane)
      or lane.ownDelayMs + lane.ownMaxLeased + lane.ownMaxUrls > 0 then
      records[#records + 1], records[#records + 2] = lane.id, recordOf(lane)
      if not lane.stored then queue.hosts = queue.hosts + 1 end
      lane.stored = true
    elseif lane.stored then
      over[#over + 1] = lane.id
      lane.stored, queue.hosts = false, queue.hosts - 1
    end
    lane.storedWaiting, lane.served, lane.used, lane.cameAt, lane.freedAt = lane.waiting, false, false, nil, nil
  end
  used, queue.changed, queue.turn, queue.waiting = {}, true, turn, waiting
  each('HSET', queue.laneKey, records)
  each('ZADD', queue.turns, turns)
  each('ZREM', queue.turns, gone)
  each('HDEL', queue.laneKey, over)
  if isReady then queue.wake() end
end
`;

/**
 * `queue.takeTurns` takes entries from the lanes whose turn it is, one lane after another, until `taken` has `wanted`.
 * It takes at most `most` from each lane. If `most` is 0, it takes one if the host has a delay, and any number
 * otherwise.
 *
 * `last` and `began`: the last turn, and the queue's time, when the lease began. If a lane's turn is later and its time
 * is not earlier, an earlier script of this lease has served the lane. If only the turn is later, the lane's entries
 * were brought back during this lease. Needs TAKE. Flush before this, and save after it.
 */
export const TAKE_TURNS = `
function queue.takeTurns(taken, wanted, most, last, began)
  local left, from = ${LANES_PER_SCRIPT}, 0
  while taken.count < wanted and not taken.rest do
    local size = min(left, max(4, wanted - taken.count))
    if size == 0 then taken.rest = 'unread' break end
    local turns = call('ZRANGEBYSCORE', queue.turns, 0, string.format('%.0f', queueTime), 'LIMIT', from, size)
    if #turns == 0 then
      if queue.waiting > 0 and call('ZCARD', queue.ends) == 1 and call('ZCARD', queue.turns) == 1 then
        error({err = 'UNSEEN the turns of lanes are missing'})
      end
      return
    end
    local ids, heads = {}, {}
    for n = 1, #turns do ids[n] = sub(turns[n], 7) end
    queue.lanesOf(ids)
    for n = 1, #ids do
      local lane = lanes[ids[n]]
      heads[n] = ${chunkOf('lane', 'lane.head')}
    end
    local chunks = call('HMGET', queue.chunks, unpack(heads))
    for n = 1, #turns do
      local lane, before = lanes[ids[n]], taken.count
      if not lane.stored or lane.turn ~= sub(turns[n], 1, 6) then
        error({err = 'UNSEEN the record of a lane is missing'})
      end
      if most > 0 and lane.dueAt >= began and unpacked('>I6', lane.turn) > last then return end
      queue.use(lane.id)
      -- The host is still blocked if the clock was set back.
      if readyOf(lane) <= queueTime then
        local delay = limitOf(lane.ownDelayMs, delayMs)
        local ofLane = most > 0 and most or delay > 0 and 1 or math.huge
        local room = limitOf(lane.ownMaxLeased, maxLeased) - inProgress(lane)
        local upTo = min(wanted, before + min(ofLane, room))
        ${takeFrom('lane', 'upTo', 'chunks[n]').trim()}
        local count = taken.count - before
        if count > 0 then
          lane.served, lane.leased = true, lane.leased + count
          wait(lane, queueTime + delay)
        end
      end
      if taken.count >= wanted or taken.rest then return end
    end
    if #turns < size then return end
    left, from = left - #turns, from + #turns
  end
end
`;

/**
 *   queue.mayLimit       returns whether some of this many items may exceed the limits on hosts
 *   queue.roomOf         returns how many more URLs of a lane may be discovered, and whether the lane is stored
 *   queue.discovered     counts entries that were added as new, and names their lanes
 *   queue.undiscovered   counts removed items, by their lanes' ids
 *   queue.kept           counts items that the sync's layers gained or lost, by their lanes' ids
 *
 * Call the last two only if `queue.countsUrls`. `queue.kept` counts only hosts with a lane if items have no names, or
 * if the queue has as many hosts as it may.
 */
export const HOST_LIMITS = `
function queue.countsUrls() return maxUrls > 0 end
function queue.mayLimit(count) return maxUrls > 0 or maxHosts - queue.hosts < count end
function queue.hostsLeft() return maxHosts - queue.hosts end
function queue.roomOf(id)
  local lane = lanes[id]
  return maxUrls > 0 and limitOf(lane.ownMaxUrls, maxUrls) - foundIn(lane) or math.huge, lane.stored
end
function queue.discovered(entries, named)
  if maxUrls > 0 then useEach(entries, function(lane) setInGroup(lane, 'found', foundIn(lane) + 1) end) end
  queue.name(named)
end
function queue.name(named)
  local names
  for n = 1, #used do
    local lane = used[n]
    if lane.name == '' and not names then
      local at = 1
      names = {}
      while at <= #named do
        local length = unpacked('>I2', named, at + 8)
        names[sub(named, at, at + 7)] = sub(named, at + 10, at + 9 + length)
        at = at + 10 + length
      end
    end
    if lane.name == '' then lane.name = names[lane.id] or '' end
  end
end
function queue.kept(ids, by, named)
  queue.lanesOf(ids)
  local left = named ~= '' and by > 0 and maxHosts - queue.hosts or 0
  for n = 1, #ids do
    local lane = lanes[ids[n]]
    if not lane.stored and not lane.used then left = left - 1 end
    if lane.stored or lane.used or left >= 0 then
      queue.use(lane.id)
      -- First updates lane.found from the count that an earlier sync kept.
      foundIn(lane)
      setInGroup(lane, 'kept', max(0, keptIn(lane, syncBase) + by))
      lane.keptBase = syncBase
    end
  end
  if named ~= '' then queue.name(named) end
end
function queue.undiscovered(ids)
  queue.lanesOf(ids)
  for n = 1, #ids do
    local lane = lanes[ids[n]]
    if foundIn(lane) > 0 then
      queue.use(lane.id)
      setInGroup(lane, 'found', lane.found - 1)
    end
  end
end
`;

/** Lua: how many ms until the first lane is due, or -1. */
export const FIRST_TURN = `
local function firstTurn()
  local aheadMs = queue.aheadMs + math.max(0, queue.seenAt - now)
  local first = call('ZRANGEBYSCORE', queue.turns, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  return first and math.max(0, first - now - aheadMs) or -1
end
`;
