import { LANE_RECORDS } from './lane-records.js';
import { chunkOf, SPLIT } from './lanes.js';
import { leases, marks } from './queue-moves.js';
import {
  checkQueue,
  EXTENDED,
  forQueues,
  LEASED,
  queueReadKeys,
  SCHEDULED,
  STORED_PRIORITIES,
} from './queue-state.js';

/** How many members of a sorted set to read at a time: leases, and members of other sets. */
const ENDS_READ = 8;
const MEMBERS_READ = 64;

/** Added to a log's chunk numbers for each log that comes before it in the lane. */
const LOG = 2 ** 40;

/**
 * `walks.w`: a lane's waiting entries, log by log, starting at an entry of a chunk. A chunk only grows at its end,
 * unless a sweep moves its entries. Then `rewrites` differs, and the chunk is read again from its first entry.
 */
const WALK_LANE = `
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
        take(place, found[n])
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
const WALK_LANES = `
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
const RANK_OF = `
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

/** `walks.l`: leased entries, ordered by when their leases end, each lease starting at an index. */
const WALK_LEASES = `
function walks.l(place)
  local at, lease, own, seen = unpacked('>I8I6I2I2', place or string.rep('\\0', 18))
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
          if isFull() then return pack('>I8I6I2I2', members[n + 1], lease, own, i - 1) end
          take('l' .. sub(members[n], 1, 6) .. pack('>I2', i - 1), queue.returned(found, i, 1), '', members[n + 1])
        end
      end
    end
    if #members < ${2 * ENDS_READ} then return nil end
    from = from + ${ENDS_READ}
  end
end
`;

/** `walks.d` and `walks.s`: delayed and scheduled entries, by time. `walks.x`: dead letters, by number. */
const WALK_MEMBERS = `
local function walkTimes(letter, place, first, past)
  local at, number = unpacked('>I8I6', place or string.rep('\\0', 14))
  if at < first then at, number = first, 0 end
  local from = rankOf(queue.delayed, at, function(member) return unpacked('>I6', member) < number end)
  while true do
    local found = call('ZRANGE', queue.delayed, from, from + ${MEMBERS_READ - 1}, 'WITHSCORES')
    for n = 1, #found, 2 do
      if tonumber(found[n + 1]) >= past then return nil end
      if isFull() then return pack('>I8I6', found[n + 1], unpacked('>I6', found[n])) end
      take(letter .. pack('>I8', found[n + 1]) .. sub(found[n], 1, 6), sub(found[n], 7), '', found[n + 1] - first)
    end
    if #found < ${2 * MEMBERS_READ} then return nil end
    from = from + ${MEMBERS_READ}
  end
end
function walks.d(place) return walkTimes('d', place, 0, ${SCHEDULED}) end
function walks.s(place) return walkTimes('s', place, ${SCHEDULED}, math.huge) end
function walks.x(place)
  local number = place and unpacked('>I6', place) or 1
  while true do
    local found = call('ZRANGEBYSCORE', queue.letters, string.format('%.0f', math.max(1, number)), '+inf', 'LIMIT', 0, ${MEMBERS_READ})
    for n = 1, #found do
      number = unpacked('>I6', found[n])
      if isFull() then return pack('>I6', number) end
      local length = unpacked('>I2', found[n], 7)
      take('x' .. sub(found[n], 1, 6), sub(found[n], 9 + length), sub(found[n], 9, 8 + length))
    end
    if #found < ${MEMBERS_READ} then return nil end
    number = number + 1
  end
end
`;

/** The states of entries as the script below names them, with the size of their places in a cursor. */
export const WALKED = {
  waiting: { letter: 'w', placeBytes: 14 },
  leased: { letter: 'l', placeBytes: 18 },
  delayed: { letter: 'd', placeBytes: 14 },
  scheduled: { letter: 's', placeBytes: 14 },
  dead: { letter: 'x', placeBytes: 6 },
} as const;
/** Bytes of a place among the waiting entries of all lanes. */
export const LANES_PLACE_BYTES = 36;

/**
 * A segment's entries, without forgotten ones. The order of places never changes, so the list has every entry that
 * stays. Entries whose lease is extended between two pages may appear twice or not at all. KEYS: 3 and on, the queue's.
 * ARGV: 3 letters of the states to list, 4 where to begin: '', or the place from the previous reply, 5 maximum number
 * of entries, 6 approximate number to read. If the queue is per-host: 7 the lane of the entries, or ''. Returns the
 * length of the next place (1 byte), that place, empty at the end; how many more entries could be read (2); then for
 * each entry: length of its place (1), its place (entry-places.ts), when it comes back, in ms (6; 0 if it has no time),
 * length of a dead letter's reason (2), reason, length of the host's name (2), name, entry.
 */
export const entriesScript = forQueues((hosts) => ({
  name: 'unseenEntries',
  numberOfKeys: queueReadKeys(hosts),
  lua: `${checkQueue(hosts)}${hosts ? LANE_RECORDS : ''}${marks(hosts)}${SPLIT}${leases(false)}
local wanted, most, left = ${hosts ? 'ARGV[7]' : "''"}, tonumber(ARGV[5]), tonumber(ARGV[6])
local walks, heads, places, reasons, times, names = {}, {}, {}, {}, {}, {}
local lane = queue
local function isFull() return #heads >= most or left <= 0 end
local function take(place, entry, reason, at)
  left = left - 1
  ${hosts ? `if wanted ~= '' and laneOf(entry) ~= wanted then return end` : ''}
  heads[#heads + 1] = entry
  places[#heads], reasons[#heads], times[#heads] = place, reason or '', at or 0
end
${
  hosts
    ? `if wanted ~= '' then
  queue.lanesOf({wanted})
  lane = lanes[wanted]
end
local counts = {w = 'waiting', l = 'leased', d = 'delayed', s = 'scheduled', x = 'dead'}`
    : ''
}${WALK_LANE}${hosts ? WALK_LANES : ''}${RANK_OF}${WALK_LEASES}${WALK_MEMBERS}
local begin, place = sub(ARGV[4], 1, 1), ''
for letter in string.gmatch(ARGV[3], '%a') do
  if begin == '' or begin == letter then
    local at = begin == letter and sub(ARGV[4], 2) or nil
    begin = ''
    local stop = ${hosts ? `(wanted == '' or lane[counts[letter]] > 0) and walks[letter](at)` : 'walks[letter](at)'}
    if stop then place = letter .. stop break end
  end
end
local gone, out = queue.forgotten(heads), {}
${
  hosts
    ? `local ids = {}
for n = 1, #heads do ids[n] = laneOf(heads[n]) end
queue.lanesOf(ids)
for n = 1, #heads do
  names[n] = lanes[ids[n]].name
  if not lanes[ids[n]].stored then error({err = 'UNSEEN the record of a lane is missing'}) end
end`
    : ''
}
for n = 1, #heads do
  if not gone[n] then
    local name = names[n] or ''
    out[#out + 1] = char(#places[n]) .. places[n] .. pack('>I6I2', times[n], #reasons[n]) .. reasons[n] .. pack('>I2', #name) .. name .. heads[n]
  end
end
return {char(#place) .. place .. pack('>I2', math.max(0, left)) .. concat(out), tonumber(kept[2])}`,
}));
