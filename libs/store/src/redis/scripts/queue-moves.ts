import { HOST_LANES } from './host-lanes.js';
import { APPEND } from './lanes.js';
import { EXTENDED, FORGOTTEN, HEAD_BYTES, idBytes, LEASED, MOST_LEASES } from './queue-state.js';
import { CAN_ROTATE } from './script.js';

/*
 * Lua that moves entries between the places of an open queue (queue-state.ts), unless they were forgotten.
 */

/** Lua: adds entries that were dropped with their hosts to `gone`. */
const DROPPED = `
  if queue.dropped > queue.sweptDrop then
    local ids, places = {}, {}
    for n = 1, #entries do
      if unpacked('>I6', entries[n], 5) <= queue.dropped then
        ids[#ids + 1] = laneOf(entries[n])
        places[#ids] = n
      end
    end
    queue.lanesOf(ids)
    for i = 1, #ids do gone[places[i]] = isDropped(lanes[ids[i]], entries[places[i]]) or nil end
  end`;

/** Lua: whether any entry of a queue may have been forgotten or dropped. */
export const hasVoid = (hosts: boolean): string =>
  `(queue.marked > 0${hosts ? ' or queue.dropped > queue.sweptDrop' : ''})`;

/**
 * `queue.forgotten` returns which of these entries, or of their first bytes (idBytes), were forgotten or dropped.
 * `queue.hasVoid` returns whether any may have been. Needs LANE_RECORDS in a per-host queue.
 */
export const marks = (hosts: boolean): string => `
function queue.hasVoid() return ${hasVoid(hosts)} end
function queue.forgotten(entries)
  local gone = {}
  if #entries == 0 then return gone end${hosts ? DROPPED : ''}
  if queue.marked == 0 then return gone end
  local hashes = {}
  for n = 1, #entries do hashes[n] = sub(entries[n], 15, 30) end
  for _, key in ipairs({queue.marks, queue.oldMarks}) do
    for from = 1, #entries, 1000 do
      local marks = call('HMGET', key, unpack(hashes, from, math.min(#entries, from + 999)))
      for n = 1, #marks do
        local birth = marks[n] and unpacked('>I6', entries[from + n - 1], 5)
        if birth and birth <= tonumber(marks[n]) then gone[from + n - 1] = true end
      end
    end
  end
  return gone
end
`;

/** `queue.add` adds entries at the end of the only lane, and wakes waiting callers. Includes APPEND. */
export const ADD = `${APPEND}
function queue.add(entries)
  if #entries == 0 then return end
  queue.append({queue}, {entries})
  queue.wake()
end
`;

/** Lua that counts entries in a state of their lanes (host-lanes.ts). */
export const countIn = (hosts: boolean, entries: string, state: string, by: number): string =>
  hosts ? `queue.count(${entries}, '${state}', ${by})` : '';

/** Lines for scripts that change a per-host queue, after its opening and NOW. */
export const hostLanes = (hosts: boolean): string => (hosts ? HOST_LANES : '');

/** Lua that writes changed lanes, in a queue with several. Use it before the queue is saved or tidied. */
export const flushed = (hosts: boolean): string => (hosts ? 'queue.flush()' : '');

/**
 * `queue.bury` turns entries into dead letters. `queue.bringBack` puts entries at the ends of their lanes, or turns
 * them into dead letters with this reason if they have used up their attempts. It drops forgotten entries, and returns
 * which these are. If the entries came due, `times` says when, and `wereScheduled` says which were scheduled. Includes
 * `queue.add`.
 */
export const bringBack = (hosts: boolean, maxAttempts: string) => `${hosts ? '' : ADD}
local maxAttempts = tonumber(${maxAttempts})
function queue.bury(entries, reason)
  if #entries == 0 then return end
  local letters, number = {}, queue.dead
  for n = 1, #entries do
    number = number + 1
    letters[2 * n - 1] = string.format('%.0f', number)
    letters[2 * n] = pack('>I6I2', number, #reason) .. reason .. entries[n]
  end
  each('ZADD', queue.letters, letters)
  queue.set('dead', number)
  ${countIn(hosts, 'entries', 'dead', 1)}
end
function queue.bringBack(entries, reason, times, wereScheduled)
  local gone, live, cameDue, back, dueTimes, dead = queue.forgotten(entries), {}, {}, {}, {}, {}
  for n = 1, #entries do
    if not gone[n] then
      live[#live + 1] = entries[n]
      if wereScheduled and wereScheduled[n] then cameDue[#cameDue + 1] = entries[n] end
      if maxAttempts > 0 and unpacked('>I3', entries[n], 2) >= maxAttempts then dead[#dead + 1] = entries[n]
      else
        back[#back + 1] = entries[n]
        dueTimes[#back] = times and times[n]
      end
    end
  end
  queue.owe(live, cameDue)
  queue.bury(dead, reason)
  queue.add(back, dueTimes)
  return gone
end
`;

/**
 *   queue.open       reads the leases with these keys, if they exist
 *   queue.unlease    takes an entry out of its lease, which ended at `at` (default: now)
 *   queue.forget     takes forgotten entries out of a lease, either all or only those at the indexes in `named`, and
 *                    returns the set of their indexes. With `stay`, they stay in the lease.
 *   queue.returned   returns an entry in the form in which it goes back to the queue. Adds `leases` to its attempts.
 *   queue.close      writes changed leases, and deletes leases without entries
 */
export const leases = (hosts: boolean): string => `
${hosts ? 'local freed, freedAt = {}, {}' : ''}
function queue.open(keys)
  local fields, opened = {}, {}
  for n = 1, #keys do fields[2 * n - 1], fields[2 * n] = keys[n], keys[n] .. 's' end
  for from = 1, #fields, 1000 do
    local found = call('HMGET', queue.leaseKey, unpack(fields, from, math.min(#fields, from + 999)))
    for n = 1, #found, 2 do
      if found[n] then
        local key, entries, at, starts = fields[from + n - 1], found[n], 1, {}
        while at <= #entries do
          starts[#starts + 1] = at
          local a, b, c, d = byte(entries, at + 30, at + 33)
          at = at + ${HEAD_BYTES} + ((a * 256 + b) * 256 + c) * 256 + d
        end
        starts[#starts + 1] = at
        local states = {byte(found[n + 1] or string.rep('${String.fromCharCode(LEASED)}', #starts - 1), 1, -1)}
        opened[key] = {key = key, entries = entries, starts = starts, states = states, changed = false}
      end
    end
  end
  return opened
end
function queue.unlease(lease, index, state${hosts ? ', at' : ''})
  if lease.states[index] == ${EXTENDED} then call('ZREM', queue.ends, lease.key .. pack('>I2', index - 1)) end
  lease.states[index], lease.changed = state, true
  ${
    hosts
      ? `local start = lease.starts[index]
  freed[#freed + 1] = sub(lease.entries, start, start + ${idBytes(true) - 1})
  freedAt[#freed] = at or now`
      : 'queue.left = (queue.left or 0) + 1'
  }
end
function queue.forget(lease, named, stay)
  local heads, indexes, taken = {}, {}, {}
  for index = 1, #lease.states do
    local isAsked = not named or named[index]
    if isAsked and (lease.states[index] == ${LEASED} or lease.states[index] == ${EXTENDED}) then
      heads[#heads + 1] = sub(lease.entries, lease.starts[index], lease.starts[index] + ${idBytes(hosts) - 1})
      indexes[#heads] = index
    end
  end
  for n in pairs(queue.forgotten(heads)) do taken[indexes[n]] = true end
  if stay then return taken end
  for index in pairs(taken) do${
    hosts
      ? `
    local member = lease.key .. (lease.states[index] == ${EXTENDED} and pack('>I2', index - 1) or '')
    -- The lease may have ended, although the entry has not moved yet.
    local at = tonumber(call('ZSCORE', queue.ends, member) or now)`
      : ''
  }
    queue.unlease(lease, index, ${FORGOTTEN}${hosts ? ', at' : ''})
  end
  return taken
end
function queue.returned(lease, index, leases)
  local entry = sub(lease.entries, lease.starts[index], lease.starts[index + 1] - 1)
  local head = unpacked('>I4', entry)
  if head % ${MOST_LEASES + 1} == ${MOST_LEASES} then leases = 0 end
  return pack('>I4', head + leases) .. sub(entry, 5)
end
function queue.close(opened)
  local ended, over, states = {}, {}, {}
  for key, lease in pairs(opened) do
    if lease.changed then
      local common, own = false, false
      for n = 1, #lease.states do
        if lease.states[n] == ${LEASED} then common = true elseif lease.states[n] == ${EXTENDED} then own = true end
      end
      if not common then ended[#ended + 1] = key end
      if common or own then
        states[#states + 1], states[#states + 2] = key .. 's', char(unpack(lease.states))
      else
        over[#over + 1], over[#over + 2] = key, key .. 's'
      end
    end
  end
  each('ZREM', queue.ends, ended)
  each('HDEL', queue.leaseKey, over)
  each('HSET', queue.leaseKey, states)
  ${
    hosts
      ? `queue.freed(freed, freedAt)
  freed, freedAt = {}, {}`
      : `if queue.left then queue.set('leased', queue.leased - queue.left) end
  queue.left = nil`
  }
end
`;

/** Deletes the marks once the queue has no entries they could apply to. */
export const TIDY = `
if queue.marked > 0 and queue.leased == 0 and queue.waiting == 0
  and call('ZCARD', queue.delayed) + call('ZCARD', queue.letters) == 2 and ${CAN_ROTATE} then
  call('UNLINK', queue.marks, queue.oldMarks)
  call('HSET', queue.marks, '', '')
  call('HSET', queue.oldMarks, '', '')
  queue.set('marked', 0)
end
`;
