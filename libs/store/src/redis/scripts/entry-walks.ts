import { MAX_LEASE_MS } from '../../port/index.js';
import { chunkOf } from './lanes.js';
import { EXTENDED, LEASED, SCHEDULED, STORED_PRIORITIES } from './queue-state.js';

/*
 * Lua for entriesScript: walks through the parts of a queue. Each walk starts at a place, calls `take` for each entry,
 * and returns the place where it stopped, or nil at the end. `began`: when the segment's walk began. `furthest`: the
 * furthest time at which a lease or a delay may end now.
 */

/** How many members of a sorted set to read at a time: leases, and members of other sets. */
const ENDS_READ = 8;
const MEMBERS_READ = 64;

/** Added to a log's chunk numbers for each log that comes before it in the lane. */
const LOG = 2 ** 40;

/**
 * `walks.w`: a lane's waiting entries, log by log, starting at an entry of a chunk. A chunk only grows at its end,
 * unless a sweep moves its entries. Then `rewrites` differs, and the chunk is read again from its first entry.
 */
export const WALK_LANE = `
local function walkLog(priority, log, number, seen, rewrites)
  if number < log.head or rewrites ~= queue.rewrites % 2 ^ 32 then seen = 0 end
  number = math.max(number, log.head)
  while number < log.next do
    if isFull() then return number, seen end
    left = left - 1
    local found, at = split(call('HGET', queue.chunks, ${chunkOf('log', 'number')}) or '', 0, math.huge), 0
    local place = 'w' .. pack('>BI6', priority, number)
    for n = 1, #found do
      at = at + #found[n]
      if n > seen and (number > log.head or at > log.headAt) then
        if isFull() then return number, n - 1 end
        take(place, 'w', found[n])
      end
    end
    number, seen = number + 1, 0
  end
end
local function walkLane(lane, place, seen, rewrites)
  local first, number = math.floor(place / ${LOG}), place % ${LOG}
  for priority = first, lane.logs and ${STORED_PRIORITIES.length - 1} or 0 do
    number, seen = walkLog(priority, priority == 0 and lane or lane.logs[priority], number, seen, rewrites)
    if number then return priority * ${LOG} + number, seen, queue.rewrites % 2 ^ 32 end
    number, seen = 0, 0
  end
end
function walks.w(place)
  local number, seen, rewrites = walkLane(lane, unpacked('>I6I4I4', place or string.rep('\\0', 14)))
  return number and pack('>I6I4I4', number, seen, rewrites)
end
`;

/**
 * `walks.w`: the waiting entries of all lanes, in a scan over their records with one hash bucket per step. A cursor is
 * valid only in the server run that gave it. In another run, the scan starts over. Within a bucket, lanes are in order.
 * If the lanes before the next one have changed, the bucket is read again from its first lane.
 */
export const WALK_LANES = `
local function precedes(a, b)
  local a1, a2 = unpacked('>I4I4', a)
  local b1, b2 = unpacked('>I4I4', b)
  return a1 < b1 or a1 == b1 and a2 < b2
end
local function digest(text) return sub(redis.sha1hex(text), 1, 4) end
local function walkLanes(place)
  local run = digest(string.match(call('INFO', 'server'), 'run_id:(%x+)'))
  local cursor, kept, id, before = 0, run, '', ''
  local number, seen, rewrites = 0, 0, 0
  if place then
    cursor, number, seen, rewrites = unpacked('>I6I6I4I4', place)
    kept, id, before = sub(place, 21, 24), sub(place, 25, 32), sub(place, 33)
  end
  if kept ~= run then cursor, id = 0, '' end
  while true do
    left = left - 1
    local scan, ids, first = call('HSCAN', queue.laneKey, string.format('%.0f', cursor), 'COUNT', 1), {}, 1
    for n = 1, #scan[2], 2 do
      if scan[2][n] ~= '' then ids[#ids + 1] = scan[2][n] end
    end
    table.sort(ids, precedes)
    if id ~= '' then
      while ids[first] and precedes(ids[first], id) do first = first + 1 end
      if digest(concat(ids, '', 1, first - 1)) ~= before then first, id = 1, '' end
    end
    queue.lanesOf(ids)
    for n = first, #ids do
      local lane = lanes[ids[n]]
      left = left - 1
      if ids[n] ~= id then number, seen, rewrites = 0, 0, 0 end
      if lane.waiting > 0 then number, seen, rewrites = walkLane(lane, number, seen, rewrites) else number = nil end
      if number then
        return pack('>I6I6I4I4', cursor, number, seen, rewrites) .. run .. ids[n] .. digest(concat(ids, '', 1, n - 1))
      end
    end
    cursor, id = tonumber(scan[1]), ''
    if cursor == 0 then return nil end
    if isFull() then return pack('>I6I6I4I4', cursor, 0, 0, 0) .. run .. string.rep('\\0', 8) .. digest('') end
  end
end
if wanted == '' then walks.w = walkLanes end
`;

/** `rankOf` returns how many members of a sorted set precede a place. The first member is empty. */
export const RANK_OF = `
local function rankOf(key, at, precedes)
  local from, past = 1, call('ZCARD', key)
  while from < past do
    local middle = math.floor((from + past) / 2)
    local found = call('ZRANGE', key, middle, middle, 'WITHSCORES')
    local score = tonumber(found[2])
    if score < at or score == at and precedes(found[1]) then from = middle + 1 else past = middle end
  end
  return from
end
`;

/**
 * `walks.l`: leased entries, ordered by when their leases end, each lease starting at an index. `walks.L`: those whose
 * leases had ended when the walk began.
 */
export const WALK_LEASES = `
local function walkLeases(place, since, past)
  local at, lease, own, seen = unpacked('>I8I6I2I2', place or string.rep('\\0', 18))
  if at < since then at, lease, own, seen = since, 0, 0, 0 end
  if at >= past then return nil end
  local function partsOf(member)
    return unpacked('>I6', member), #member > 6 and unpacked('>I2', member, 7) + 1 or 0
  end
  local from = rankOf(queue.ends, at, function(member)
    local number, index = partsOf(member)
    return number < lease or number == lease and index < own
  end)
  while true do
    local members, keys = call('ZRANGE', queue.ends, from, from + ${ENDS_READ - 1}, 'WITHSCORES'), {}
    for n = 1, #members, 2 do keys[#keys + 1] = sub(members[n], 1, 6) end
    local opened = queue.open(keys)
    for n = 1, #members, 2 do
      local ends = tonumber(members[n + 1])
      if ends >= past then return nil end
      left = left - 1
      local number, index = partsOf(members[n])
      local found = opened[sub(members[n], 1, 6)]
      if not found then error({err = 'UNSEEN the entries of a lease are missing'}) end
      if number ~= lease or index ~= own then seen = 0 end
      lease, own = number, index
      local first, last, state = 1, #found.states, ${LEASED}
      if own > 0 then first, last, state = own, own, ${EXTENDED} end
      for i = math.max(first, seen + 1), last do
        if found.states[i] == state then
          if isFull() then return pack('>I8I6I2I2', ends, lease, own, i - 1) end
          local entry = queue.returned(found, i, 1)
          take('l' .. sub(members[n], 1, 6) .. pack('>I2', i - 1), isDue(ends) and stateOf(entry) or 'l', entry, '', ends)
        end
      end
    end
    if #members < ${2 * ENDS_READ} then return nil end
    from = from + ${ENDS_READ}
  end
end
function walks.L(place)
  return walkLeases(place, 0, began + 1) or walkLeases(place, began + ${MAX_LEASE_MS + 1}, math.huge)
end
function walks.l(place) return walkLeases(place, began + 1, furthest + 1) end
`;

/**
 * `walks.d` and `walks.s`: delayed and scheduled entries, by time. `walks.D` and `walks.S`: those that were due when
 * the walk began. `walks.x`: dead letters, by number.
 */
export const WALK_MEMBERS = `
local function walkTimes(letter, place, since, past)
  local at, number = unpacked('>I8I6', place or string.rep('\\0', 14))
  if at < since then at, number = since, 0 end
  if at >= past then return nil end
  local from = rankOf(queue.delayed, at, function(member) return unpacked('>I6', member) < number end)
  while true do
    local found = call('ZRANGE', queue.delayed, from, from + ${MEMBERS_READ - 1}, 'WITHSCORES')
    for n = 1, #found, 2 do
      local score = tonumber(found[n + 1])
      if score >= past then return nil end
      if isFull() then return pack('>I8I6', score, unpacked('>I6', found[n])) end
      local comesAt, comes = score, false
      if letter == 'd' then comes = isDue(score)
      else
        comesAt = score - ${SCHEDULED}
        comes = comesAt <= now and queue.checking == 0
      end
      local entry = sub(found[n], 7)
      take(letter .. pack('>I8', score) .. sub(found[n], 1, 6), comes and stateOf(entry) or letter, entry, '', comesAt)
    end
    if #found < ${2 * MEMBERS_READ} then return nil end
    from = from + ${MEMBERS_READ}
  end
end
function walks.D(place)
  return walkTimes('d', place, 0, began + 1) or walkTimes('d', place, began + ${MAX_LEASE_MS + 1}, ${SCHEDULED})
end
function walks.d(place) return walkTimes('d', place, began + 1, furthest + 1) end
function walks.S(place) return walkTimes('s', place, ${SCHEDULED}, ${SCHEDULED} + began + 1) end
function walks.s(place) return walkTimes('s', place, ${SCHEDULED} + began + 1, math.huge) end
function walks.x(place)
  local number = place and unpacked('>I6', place) or 1
  while true do
    local found = call('ZRANGEBYSCORE', queue.letters, string.format('%.0f', math.max(1, number)), '+inf', 'LIMIT', 0, ${MEMBERS_READ})
    for n = 1, #found do
      number = unpacked('>I6', found[n])
      if isFull() then return pack('>I6', number) end
      local length = unpacked('>I2', found[n], 7)
      take('x' .. sub(found[n], 1, 6), 'x', sub(found[n], 9 + length), sub(found[n], 9, 8 + length))
    end
    if #found < ${MEMBERS_READ} then return nil end
    number = number + 1
  end
end
`;
