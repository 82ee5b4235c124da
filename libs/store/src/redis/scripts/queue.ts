import { TAKE_TURNS } from './host-lanes.js';
import { take, takeFrom } from './lanes.js';
import { DUE_AT, IS_DUE, MAY_BE_DUE, moveDue } from './due.js';
import { bringBack, countIn, flushed, hostLanes, leases, marks, TIDY } from './queue-moves.js';
import {
  CHECK_QUEUE_CHANGE,
  EXTENDED,
  FORGOTTEN,
  forQueues,
  idBytes,
  LEASE_ENTRIES,
  LEASED,
  openChanged,
  OVER,
  queueChangeKeys,
  recordQueue,
} from './queue-state.js';
import { schedule } from './schedule.js';
import { ALLOW_OOM, FIND_RECORD, RECALL } from './script.js';
import { takeOver } from './unclaimed.js';

/**
 * Answers a repeat with the entries that are still held. The record is "<first lease> <entries>", plus "+" if the flag
 * was 3. Needs leases, marks and IS_DUE.
 */
const stillHeld = (hosts: boolean): string => `
function queue.held(first, count)
  local keys, states, entries = {}, {}, {}
  for n = 0, count - 1, ${LEASE_ENTRIES} do keys[#keys + 1] = pack('>I6', first + n / ${LEASE_ENTRIES}) end
  local opened = queue.open(keys)
  for n = 1, #keys do
    local lease = opened[keys[n]]
    local size = math.min(${LEASE_ENTRIES}, count - (n - 1) * ${LEASE_ENTRIES})
    if not lease then
      states[n] = string.rep('-', size)
    else
      local heads, over = {}, isDue(call('ZSCORE', queue.ends, keys[n]))
      for index = 1, size do heads[index] = sub(lease.entries, lease.starts[index], lease.starts[index] + ${idBytes(hosts) - 1}) end
      local gone = queue.forgotten(heads)
      for index = 1, size do
        local state = lease.states[index]
        local held = state == ${LEASED} and not over
          or state == ${EXTENDED} and not isDue(call('ZSCORE', queue.ends, keys[n] .. pack('>I2', index - 1)))
        lease.states[index] = held and not gone[index] and ${LEASED} or ${OVER}
      end
      states[n], entries[#entries + 1] = char(unpack(lease.states)), lease.entries
    end
  end
  return concat(states), concat(entries)
end
`;

/** Lua: takes entries from lanes in turn. */
const TAKE_DUE = `
local last, time = string.match(began, '(%d+):(%d+)')
queue.takeTurns(taken, wanted, tonumber(ARGV[15]), tonumber(last), tonumber(time))`;

/**
 * lease: takes entries from the head of the queue and hides them for a while, in leases of LEASE_ENTRIES. Before it
 * takes entries, a lease brings back as many due ones as it takes, so that those due for longest come first. ARGV:
 *
 *    9 attempts that make a dead letter (0: no limit)
 *   10 entries, or 0 to answer a repeat only
 *   11 lease in ms
 *   12 bytes of payloads
 *   13 '1' if the first entry may have more
 *   14 due entries that earlier scripts of this lease brought back
 *   15 in a per-host queue: entries per host
 *   16 in a per-host queue: when the lease began, as the first script with entries returned it, else ''
 *
 * Returns "<first lease> <entries> <flag> <began> <brought back> <states>\n", then the entries as in the leases.
 *
 *   began          in a per-host queue: "<last turn>:<the queue's time>" (see takeTurns)
 *   brought back   due entries that all scripts of this lease brought back
 *   states         only for a repeat, one character per entry: LEASED if still held, '-' if the answer leaves it out
 *   flag           1: there is more to read
 *                  2: the next entry would exceed the bytes
 *                  3: it has leased some, and more lanes may have entries or more entries are due
 *                  4: it has leased nothing, and the instance must continue the steps of unclaimed.ts
 *                  0: otherwise
 */
export const leaseScript = forQueues((hosts) => ({
  name: 'unseenLease',
  numberOfKeys: queueChangeKeys(hosts),
  moreKeys: true,
  lua: `${CHECK_QUEUE_CHANGE}${FIND_RECORD}${openChanged(hosts)}${hostLanes(hosts)}${marks(hosts)}${take(hosts)}${hosts ? TAKE_TURNS : ''}${DUE_AT}
local items = tonumber(kept[2])
if recalled then
${leases(hosts)}${IS_DUE}${stillHeld(hosts)}
  local first, count, rest = string.match(recalled, '^(%d+) (%d+)(%+?)$')
  local states, entries = queue.held(tonumber(first), tonumber(count))
  return {first .. ' ' .. count .. (rest == '+' and ' 3 0 0 ' or ' 0 0 0 ') .. states .. '\\n' .. entries, items}
end
local wanted = tonumber(ARGV[10])
if wanted == 0 then return {'0 0 0 0 0 \\n', items} end${takeOver("{'0 0 4 0 0 \\n', items}")}
local more, brought, moved = false, tonumber(ARGV[14])
if ${MAY_BE_DUE} then
${bringBack(hosts, 'ARGV[9]')}${leases(hosts)}${moveDue(hosts)}
  more, moved = queue.moveDue()
  brought = brought + moved
  ${flushed(hosts)}
end
local taken = {count = 0, read = 0, left = tonumber(ARGV[12]), any = ARGV[13] == '1', records = {}, parts = {}, used = {}}
local began = ${hosts ? "ARGV[16] ~= '' and ARGV[16] or string.format('%.0f:%.0f', queue.turn, queueTime)" : "''"}
if not more or brought >= wanted then
${hosts ? TAKE_DUE : takeFrom('queue', 'wanted')}
end
local count, records = taken.count, taken.records
if #taken.parts > 0 then records[#records + 1] = concat(taken.parts) end
local flag = 0
if taken.rest == 'full' then flag = 2
elseif (more or taken.rest == 'unread') and count < wanted then flag = count == 0 and 1 or 3 end
local first, fields, ends = queue.leases + 1, {}, {}
local till = now + ARGV[11]
for n = 1, #records do
  local key = pack('>I6', first + n - 1)
  fields[2 * n - 1], fields[2 * n] = key, records[n]
  ends[2 * n - 1], ends[2 * n] = string.format('%.0f', till), key
end
each('HSET', queue.leaseKey, fields)
each('ZADD', queue.ends, ends)
each('HDEL', queue.chunks, taken.used)
${flushed(hosts)}
if count == 0 then
  ${TIDY}
  queue.save()
  return {string.format('0 0 %d %s %d \\n', flag, began, brought), items}
end
queue.dueAt(till)
queue.set('leases', queue.leases + #records)
queue.set('leased', queue.leased + count)
local answers = string.format('%.0f %d', first, count) .. (flag == 3 and '+' or '')
${recordQueue(hosts)}
return {string.format('%.0f %d %d %s %d \\n', first, count, flag, began, brought) .. concat(records), items}`,
}));

const HOST_DELAY = `
if ARGV[16] ~= '0' then
  queue.delay(back, tonumber(ARGV[16]))
  queue.delay(void, tonumber(ARGV[16]))
end`;

/**
 * settle: ack, release or extend. ARGV:
 *
 *    9 attempts that make a dead letter (0: no limit)
 *   10 verb
 *   11 ms of the delay or extension, or after which an acknowledged entry comes back (0: never)
 *   12 reason
 *   13 leases that a release counts per entry (0 or 1)
 *   14 the ids, for each lease: the lease (6 bytes), how many ids (2), and for each id the index in the lease (2) and
 *      8 bytes of the item's hash
 *   15 where in the hash these bytes begin
 *   16 in a per-host queue: ms by which to delay the hosts of released entries, and of forgotten ones that the lease
 *      still held
 */
export const settleScript = forQueues((hosts) => ({
  name: 'unseenSettle',
  numberOfKeys: queueChangeKeys(hosts),
  moreKeys: true,
  lua: `${ALLOW_OOM}${CHECK_QUEUE_CHANGE}${RECALL}${openChanged(hosts)}${hostLanes(hosts)}${marks(hosts)}${leases(hosts)}${DUE_AT}${IS_DUE}
local verb, packed = ARGV[10], ARGV[14]
local at, out, groups, keys, named = 1, {}, {}, {}, {}
while at <= #packed do
  local key = sub(packed, at, at + 5)
  local count = unpacked('>I2', packed, at + 6)
  groups[#groups + 1] = {key = key, from = at + 8, to = at + 7 + count * 10}
  if not named[key] then keys[#keys + 1], named[key] = key, {} end
  for id = at + 8, at + 7 + count * 10, 10 do named[key][unpacked('>I2', packed, id) + 1] = true end
  at = at + 8 + count * 10
end
if verb == 'release' then
${bringBack(hosts, 'ARGV[9]')}${moveDue(hosts)}
  queue.moveDue()
end
if ARGV[11] ~= '0' then
${schedule(hosts)}
end
local opened, back, gone, again, void = queue.open(keys), {}, {}, {}, {}
local till = now + ARGV[11]
for n = 1, #keys do
  local lease = opened[keys[n]]
  if lease then lease.over = isDue(call('ZSCORE', queue.ends, keys[n])) end
end
-- Returns whether the lease still holds the entry with this index. Forgotten entries were ruled out before.
local function held(lease, index)
  local state = lease.states[index]
  if state == ${LEASED} then return not lease.over end
  return state == ${EXTENDED} and not isDue(call('ZSCORE', queue.ends, lease.key .. pack('>I2', index - 1)))
end
if queue.hasVoid() then
  -- An extension leaves forgotten entries in their leases, because workers still fetch their URLs.
  for key, lease in pairs(opened) do lease.voided = queue.forget(lease, named[key], verb == 'extend') end
end
for g = 1, #groups do
  local group = groups[g]
  local lease = opened[group.key]
  for at = group.from, group.to, 10 do
    local a, b = byte(packed, at, at + 1)
    local index = a * 256 + b + 1
    local start, answer = lease and lease.starts[index], '0'
    if not lease then
      local number = unpacked('>I6', group.key)
      if number > 0 and number <= queue.leases then answer = '2' end
    elseif index > #lease.states or sub(packed, at + 2, at + 9) ~= sub(lease.entries, start + 14 + ARGV[15], start + 21 + ARGV[15]) then
      answer = '0'
    elseif lease.states[index] == ${FORGOTTEN} or lease.voided and lease.voided[index] then
      answer = '0'
      ${hosts ? `if lease.voided and lease.voided[index] then void[#void + 1] = sub(lease.entries, start, start + ${idBytes(true) - 1}) end` : ''}
    elseif not held(lease, index) then
      answer = '2'
    else
      answer = '1'
      if verb == 'extend' then
        lease.extended = lease.extended or {}
        lease.extended[index] = true
      else
        if verb == 'release' then
          back[#back + 1] = queue.returned(lease, index, ARGV[13])
        else
          gone[#gone + 1] = sub(lease.entries, start, start + ${idBytes(hosts) - 1})
          if till > now then
            again[#again + 1] = concat({sub(lease.entries, start, start), '\\0\\0\\0', sub(lease.entries, start + 4, start + 9),
              pack('>I4', math.floor(till / 1000)), sub(lease.entries, start + 14, lease.starts[index + 1] - 1)})
          end
        end
        queue.unlease(lease, index, ${OVER})
      end
    end
    out[#out + 1] = answer
  end
end
if verb == 'extend' then
  local score, ends = string.format('%.0f', till), {}
  for key, lease in pairs(opened) do
    local all = lease.extended ~= nil and not lease.over
    for index = 1, #lease.states do
      if all and held(lease, index) and not lease.extended[index] then all = false end
    end
    if all then ends[#ends + 1], ends[#ends + 2] = score, key end
    for index in pairs(lease.extended or {}) do
      local own = key .. pack('>I2', index - 1)
      if not all then
        ends[#ends + 1], ends[#ends + 2] = score, own
        lease.states[index], lease.changed = ${EXTENDED}, true
      elseif lease.states[index] == ${EXTENDED} then
        call('ZREM', queue.ends, own)
        lease.states[index], lease.changed = ${LEASED}, true
      end
    end
  end
  queue.close(opened)
  each('ZADD', queue.ends, ends)
  if #ends > 0 then queue.dueAt(till) end
else
  queue.close(opened)
end
queue.owe(gone)
if #again > 0 then queue.schedule(again, till) end
${hosts ? HOST_DELAY : ''}
if #back > 0 and ARGV[11] == '0' then
  queue.bringBack(back, ARGV[12])
elseif #back > 0 then
  queue.owe(back)
  local maxAttempts = tonumber(ARGV[9])
  local dead, later = {}, {}
  for n = 1, #back do
    if maxAttempts > 0 and unpacked('>I3', back[n], 2) >= maxAttempts then
      dead[#dead + 1] = back[n]
    else
      later[#later + 1] = back[n]
    end
  end
  queue.bury(dead, ARGV[12])
  queue.postpone(later, till)
  ${countIn(hosts, 'later', 'delayed', 1)}
  queue.dueAt(till)
end
${flushed(hosts)}
${TIDY}
local answers = concat(out)
${recordQueue(hosts)}
return {answers, tonumber(kept[2])}`,
}));
