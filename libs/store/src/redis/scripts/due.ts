import { LEASE_ENDED, MAX_LEASE_MS } from '../../port/index.js';
import { EXTENDED, idBytes, LEASED, OVER, SCHEDULED } from './queue-state.js';

/* Lua for an open queue's entries that come back at a set time. */

/**
 * How many due leases, and how many delayed entries, one script moves at most. In a per-host queue, each entry may
 * change another lane.
 */
const dueLeases = (hosts: boolean): number => (hosts ? 2 : 8);
const dueDelayed = (hosts: boolean): number => (hosts ? 16 : 250);

/** `queue.dueAt` notes that an entry comes back at this time. */
export const DUE_AT = `
function queue.dueAt(at)
  if queue.due == 0 or at < queue.due then queue.set('due', at) end
end
`;

/** If a time is too far ahead, the clock has been set back since it was stored. Scheduled entries may have any time. */
const MAY_COME_BACK = `queue.due > 0 and (queue.due <= now or queue.due > now + ${MAX_LEASE_MS})`;
const MAY_BE_ON_TIME = 'queue.scheduled > 0 and queue.scheduledAt <= now and queue.checking == 0';
/** Lua: whether an entry may be due. */
export const MAY_BE_DUE = `(${MAY_COME_BACK} or ${MAY_BE_ON_TIME})`;

/**
 * `queue.moveDue` brings back due entries in order of time, scheduled ones last, up to the limits above. It sets
 * `queue.due` and `queue.scheduledAt` to no later than the first remaining time of their kind, or to 0 if none is left.
 * Returns whether more entries may be due. Needs marks, bringBack and leases.
 */
export const moveDue = (hosts: boolean): string => `
local function move(from, to, state)
  local ends = call('ZRANGEBYSCORE', queue.ends, from, to, 'WITHSCORES', 'LIMIT', 0, ${dueLeases(hosts)})
  local delayed = call('ZRANGEBYSCORE', queue.delayed, from, to, 'WITHSCORES', 'LIMIT', 0, ${dueDelayed(hosts)})
  local last = math.huge
  if #ends == ${2 * dueLeases(hosts)} then last = tonumber(ends[#ends]) end
  if #delayed == ${2 * dueDelayed(hosts)} then last = math.min(last, tonumber(delayed[#delayed])) end
  local keys, known = {}, {}
  for n = 1, #ends, 2 do
    local key = sub(ends[n], 1, 6)
    if not known[key] then keys[#keys + 1], known[key] = key, true end
  end
  local opened, back, over, e, d = queue.open(keys), {}, {}, 1, 1${hosts ? '\n  local delays = {}' : ''}
  for n = 1, #keys do
    if not opened[keys[n]] then error({err = 'UNSEEN the entries of a lease are missing'}) end
  end
  while e < #ends or d < #delayed do
    if d > #delayed or e < #ends and tonumber(ends[e + 1]) <= tonumber(delayed[d + 1]) then
      if tonumber(ends[e + 1]) > last then break end
      local lease = opened[sub(ends[e], 1, 6)]
      local first, to, state = 1, #lease.states, ${LEASED}
      if #ends[e] > 6 then
        first, state = unpacked('>I2', ends[e], 7) + 1, ${EXTENDED}
        to = first
      end
      for index = first, to do
        if lease.states[index] == state then
          back[#back + 1] = queue.returned(lease, index, 1)
          queue.unlease(lease, index, ${OVER}${hosts ? ', tonumber(ends[e + 1])' : ''})
        end
      end
      e = e + 2
    else
      if tonumber(delayed[d + 1]) > last then break end
      over[#over + 1] = delayed[d]
      back[#back + 1] = sub(delayed[d], 7)${hosts ? '\n      delays[#delays + 1] = back[#back]' : ''}
      d = d + 2
    end
  end
  queue.close(opened)
  each('ZREM', queue.delayed, over)
  ${hosts ? 'queue.count(delays, state, -1)' : ''}
  if state == 'scheduled' then queue.set('scheduled', queue.scheduled - #over) end
  queue.bringBack(back, '${LEASE_ENDED}', state == 'scheduled')
  return last < math.huge
end
function queue.moveDue()
  local more = false
  if ${MAY_COME_BACK} then
    local late, due = now + ${MAX_LEASE_MS}, ${SCHEDULED}
    more = move(0, now, 'delayed')
    more = move(string.format('(%.0f', late), '(${SCHEDULED}', 'delayed') or more
    for _, key in ipairs({queue.ends, queue.delayed}) do
      due = math.min(due, tonumber(call('ZRANGE', key, 1, 1, 'WITHSCORES')[2] or ${SCHEDULED}))
    end
    queue.set('due', due < ${SCHEDULED} and due or 0)
  end
  if ${MAY_BE_ON_TIME} then
    more = move('${SCHEDULED}', string.format('%.0f', ${SCHEDULED} + now), 'scheduled') or more
    local first = call('ZRANGEBYSCORE', queue.delayed, '${SCHEDULED}', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    queue.set('scheduledAt', first and first - ${SCHEDULED} or 0)
  end
  return more
end
`;

/**
 * `isDue` returns whether a lease or a delay has ended. If a time is too far ahead, the clock has been set back since
 * it was stored.
 */
export const IS_DUE = `
local function isDue(at)
  return not at or tonumber(at) <= now or tonumber(at) > now + ${MAX_LEASE_MS}
end
`;

/**
 * Limits on the entries that a script reads because they are due but have not moved yet. Without limits, reading them
 * could block Redis for long. A script reads at most LEASES_READ ended leases, and none after the one that completes
 * ENDED_READ entries, and at most DELAYED_READ due entries of each other kind.
 */
const LEASES_READ = 50;
const ENDED_READ = 1_000;
const DELAYED_READ = 250;

/**
 * The first bytes (idBytes) of entries whose leases have ended, and the times when they ended; and the entries that
 * were delayed or scheduled and are due. Needs leases.
 */
export const dueEntries = (hosts: boolean): string => `
local function endedEntries()
  local ends = call('ZRANGEBYSCORE', queue.ends, 0, now, 'WITHSCORES', 'LIMIT', 0, ${LEASES_READ})
  local opened, ended, times = {}, {}, {}
  for n = 1, #ends, 2 do
    if #ended >= ${ENDED_READ} then break end
    local key, own = sub(ends[n], 1, 6), #ends[n] > 6 and unpacked('>I2', ends[n], 7) + 1
    if opened[key] == nil then opened[key] = queue.open({key})[key] or false end
    local lease = opened[key]
    for index = own or 1, lease and (own or #lease.states) or 0 do
      if own or lease.states[index] == ${LEASED} then
        local start = lease.starts[index]
        ended[#ended + 1] = sub(lease.entries, start, start + ${idBytes(hosts) - 1})
        times[#ended] = tonumber(ends[n + 1])
      end
    end
  end
  return ended, times
end
local function dueFrom(from, to)
  local due = call('ZRANGEBYSCORE', queue.delayed, from, to, 'LIMIT', 0, ${DELAYED_READ})
  for n = 1, #due do due[n] = sub(due[n], 7) end
  return due
end
local function dueDelayed() return dueFrom(0, now) end
local function dueScheduled() return dueFrom('${SCHEDULED}', string.format('%.0f', ${SCHEDULED} + now)) end
`;

/**
 * `queue.countDue` counts the due entries of these lanes as the next lease will, but moves none. Returns the lanes that
 * it changes, by their ids. Don't flush or write them after this. Needs leases and HOST_LANES.
 */
export const COUNT_DUE = `${dueEntries(true)}
function queue.countDue(ids)
  local isWanted, changed = {}, {}
  for n = 1, #ids do isWanted[ids[n]] = true end
  local function count(entries, state, ends)
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
      if ends then counts = free(lane, entry, ends[places[i]])
      else
        counts = not isDropped(lane, entry)
        if counts then setInGroup(lane, state, lane[state] - 1) end
      end
      if counts then lane.waiting = lane.waiting + 1 end
      changed[lane.id] = lane
    end
  end
  local ended, ends = endedEntries()
  count(ended, 'leased', ends)
  count(dueDelayed(), 'delayed')
  if queue.scheduled > 0 then count(dueScheduled(), 'scheduled') end
  for _, lane in pairs(changed) do lane.dueAt = turnOf(lane) end
  return changed
end
`;
