import { LEASE_ENDED, MAX_LEASE_MS } from '../../port/index.js';
import { EXTENDED, idBytes, LEASED, OVER, SCHEDULED } from './queue-state.js';

/* Lua for an open queue's entries that come back at a set time. */

/**
 * Maximum number of due leases, and of delayed entries, that one script moves. It is lower in a per-host queue, because
 * each entry may change another lane.
 */
const dueLeases = (hosts: boolean): number => (hosts ? 2 : 8);
const dueDelayed = (hosts: boolean): number => (hosts ? 16 : 250);

/** Lua: whether a stored time is too late: so far ahead that the clock must have been set back since. */
export const isTooLate = (at: string): string => `${at} > now + ${MAX_LEASE_MS}`;

/**
 * `queue.dueAt` notes that an entry comes back at this time. It keeps a `queue.due` that is too late, because entries
 * with such times are due now.
 */
export const DUE_AT = `
function queue.dueAt(at)
  if queue.due == 0 or at < queue.due and not (${isTooLate('queue.due')}) then queue.set('due', at) end
end
`;

/** Entries whose times are too late are due, except scheduled ones, which may have any time. */
const MAY_COME_BACK = `queue.due > 0 and (queue.due <= now or ${isTooLate('queue.due')})`;
const MAY_BE_ON_TIME = 'queue.scheduled > 0 and queue.scheduledAt <= now and queue.checking == 0';
/** Lua: whether an entry may be due. */
export const MAY_BE_DUE = `(${MAY_COME_BACK} or ${MAY_BE_ON_TIME})`;

/**
 * `dueBetween` returns the first `most` members of a sorted set whose scores are in a range, and their times: the
 * scores minus `base`.
 */
const DUE_BETWEEN = `
local function dueBetween(key, from, to, most, base)
  local found, members, times = call('ZRANGEBYSCORE', key, from, to, 'WITHSCORES', 'LIMIT', 0, most), {}, {}
  for n = 1, #found, 2 do
    members[#members + 1] = found[n]
    times[#members] = found[n + 1] - base
  end
  return members, times
end
`;
/** Lua: the scores of times that are too late (see isTooLate). */
export const TOO_LATE = `string.format('(%.0f', now + ${MAX_LEASE_MS}), '(${SCHEDULED}'`;
/** Lua: the scores of scheduled entries that are due. */
const ON_TIME = `'${SCHEDULED}', string.format('%.0f', ${SCHEDULED} + now)`;

/**
 * `queue.moveDue` brings back due entries in order of time, up to the limits above. Returns whether more entries may be
 * due, and how many it has moved. Needs marks, bringBack and leases.
 *
 * Afterwards, `queue.due` and `queue.scheduledAt` are lower bounds of the first remaining times of their kinds, or 0 if
 * none remain. While times remain that are too late, `queue.due` is one of them.
 */
export const moveDue = (hosts: boolean): string => `${DUE_BETWEEN}
local function move(sources, last)
  local keys, isListed = {}, {}
  for _, source in ipairs(sources) do
    for n = 1, source.state == 'leased' and #source.members or 0 do
      local key = sub(source.members[n], 1, 6)
      if not isListed[key] then keys[#keys + 1], isListed[key] = key, true end
    end
  end
  local opened, back, times, over, moved = queue.open(keys), {}, {}, {}, {delayed = {}, scheduled = {}}
  local wereScheduled = {}
  for n = 1, #keys do
    if not opened[keys[n]] then error({err = 'UNSEEN the entries of a lease are missing'}) end
  end
  while true do
    local first, at = nil, math.huge
    for _, source in ipairs(sources) do
      local time = source.times[source.next]
      if time and time < at then first, at = source, time end
    end
    if at > last or not first then break end
    local member = first.members[first.next]
    first.next = first.next + 1
    if first.state == 'leased' then
      local lease = opened[sub(member, 1, 6)]
      local index, to, state = 1, #lease.states, ${LEASED}
      if #member > 6 then
        index, state = unpacked('>I2', member, 7) + 1, ${EXTENDED}
        to = index
      end
      for index = index, to do
        if lease.states[index] == state then
          back[#back + 1] = queue.returned(lease, index, 1)
          times[#back] = at
          queue.unlease(lease, index, ${OVER}${hosts ? ', at' : ''})
        end
      end
    else
      local entry, ofState = sub(member, 7), moved[first.state]
      over[#over + 1], ofState[#ofState + 1] = member, entry
      back[#back + 1] = entry
      times[#back], wereScheduled[#back] = at, first.state == 'scheduled'
    end
  end
  queue.close(opened)
  each('ZREM', queue.delayed, over)
  ${hosts ? 'for state, entries in pairs(moved) do queue.count(entries, state, -1) end' : ''}
  if #moved.scheduled > 0 then queue.set('scheduled', queue.scheduled - #moved.scheduled) end
  queue.bringBack(back, '${LEASE_ENDED}', times, wereScheduled)
  return #back
end
function queue.moveDue()
  local sources, last = {}, math.huge
  local function read(state, key, most, from, to, base)
    local members, times = dueBetween(key, from, to, most, base or 0)
    if #members == most then last = math.min(last, times[most]) end
    sources[#sources + 1] = {state = state, members = members, times = times, next = 1}
  end
  local mayComeBack, mayBeOnTime = ${MAY_COME_BACK}, ${MAY_BE_ON_TIME}
  if mayComeBack then
    read('leased', queue.ends, ${dueLeases(hosts)}, 0, now)
    read('delayed', queue.delayed, ${dueDelayed(hosts)}, 0, now)
    read('leased', queue.ends, ${dueLeases(hosts)}, ${TOO_LATE})
    read('delayed', queue.delayed, ${dueDelayed(hosts)}, ${TOO_LATE})
  end
  if mayBeOnTime then read('scheduled', queue.delayed, ${dueDelayed(hosts)}, ${ON_TIME}, ${SCHEDULED}) end
  local moved = move(sources, last)
  if mayComeBack then
    local due = ${SCHEDULED}
    for _, key in ipairs({queue.ends, queue.delayed}) do
      due = math.min(due, tonumber(call('ZRANGE', key, 1, 1, 'WITHSCORES')[2] or ${SCHEDULED}))
    end
    for _, key in ipairs({queue.ends, queue.delayed}) do
      due = tonumber(call('ZRANGEBYSCORE', key, ${TOO_LATE}, 'WITHSCORES', 'LIMIT', 0, 1)[2] or due)
    end
    queue.set('due', due < ${SCHEDULED} and due or 0)
  end
  if mayBeOnTime then
    local first = call('ZRANGEBYSCORE', queue.delayed, '${SCHEDULED}', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    queue.set('scheduledAt', first and first - ${SCHEDULED} or 0)
  end
  return last < math.huge, moved
end
`;

/** `isDue` returns whether a lease or a delay has ended. A time that is too late has ended. */
export const IS_DUE = `
local function isDue(at)
  return not at or tonumber(at) <= now or ${isTooLate('tonumber(at)')}
end
`;

/**
 * Limits for a script that reads due entries without moving them, so that it doesn't block Redis for long. It reads at
 * most LEASES_READ ended leases, no further lease after ENDED_READ entries, and at most DELAYED_READ due entries of
 * each other kind.
 */
const LEASES_READ = 50;
const ENDED_READ = 1_000;
const DELAYED_READ = 250;

/**
 * Three functions that return due entries and their times: `endedEntries` for ended leases (only the entries' first
 * bytes, idBytes), `dueDelayed` for delays, and `dueScheduled` for schedules. Entries are in order of time, but those
 * whose times are too late come last. `most`: a lower limit than DELAYED_READ. Needs leases.
 */
export const dueEntries = (hosts: boolean): string => `${DUE_BETWEEN}
local function comeBack(key, most)
  local members, times = dueBetween(key, 0, now, most, 0)
  local late, lateTimes = dueBetween(key, ${TOO_LATE}, most - #members, 0)
  for n = 1, #late do
    members[#members + 1] = late[n]
    times[#members] = lateTimes[n]
  end
  return members, times
end
local function endedEntries()
  local ends, endTimes = comeBack(queue.ends, ${LEASES_READ})
  local opened, ended, times = {}, {}, {}
  for n = 1, #ends do
    if #ended >= ${ENDED_READ} then break end
    local key, own = sub(ends[n], 1, 6), #ends[n] > 6 and unpacked('>I2', ends[n], 7) + 1
    if opened[key] == nil then opened[key] = queue.open({key})[key] or false end
    local lease = opened[key]
    for index = own or 1, lease and (own or #lease.states) or 0 do
      if own or lease.states[index] == ${LEASED} then
        local start = lease.starts[index]
        ended[#ended + 1] = sub(lease.entries, start, start + ${idBytes(hosts) - 1})
        times[#ended] = endTimes[n]
      end
    end
  end
  return ended, times
end
local function entriesOf(members, times)
  for n = 1, #members do members[n] = sub(members[n], 7) end
  return members, times
end
local function dueDelayed(most) return entriesOf(comeBack(queue.delayed, most or ${DELAYED_READ})) end
local function dueScheduled(most)
  return entriesOf(dueBetween(queue.delayed, ${ON_TIME}, most or ${DELAYED_READ}, ${SCHEDULED}))
end
`;

/**
 * `queue.countDue` counts the due entries of these lanes as waiting, as the next lease would, but moves none. Returns
 * the changed lanes, by their ids. Don't flush or write them after this. Needs leases and HOST_LANES.
 */
export const COUNT_DUE = `${dueEntries(true)}
function queue.countDue(ids)
  local isWanted, changed = {}, {}
  for n = 1, #ids do isWanted[ids[n]] = true end
  local function count(state, entries, times)
    local found, places = {}, {}
    for n = 1, #entries do
      local id = laneOf(entries[n])
      if isWanted[id] then
        found[#found + 1] = id
        places[#found] = n
      end
    end
    queue.lanesOf(found)
    for i = 1, #found do
      local lane, entry, counts = lanes[found[i]], entries[places[i]]
      if state == 'leased' then counts = free(lane, entry, times[places[i]])
      else
        counts = not isDropped(lane, entry)
        if counts then setInGroup(lane, state, lane[state] - 1) end
      end
      if counts then
        came(lane, times[places[i]])
        lane.waiting = lane.waiting + 1
      end
      changed[lane.id] = lane
    end
  end
  count('leased', endedEntries())
  count('delayed', dueDelayed())
  if queue.scheduled > 0 then count('scheduled', dueScheduled()) end
  for _, lane in pairs(changed) do lane.dueAt = turnOf(lane) end
  return changed
end
`;
