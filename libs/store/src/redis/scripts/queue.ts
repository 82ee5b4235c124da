import { MAX_LEASE_MS } from '../../store.js';
import {
  bringBack,
  EXTENDED,
  FORGOTTEN,
  HEAD_BYTES,
  IS_DUE,
  LEASE_ENTRIES,
  LEASED,
  LEASES,
  MARKS,
  MOVE_DUE,
  openQueue,
  OVER,
  TIDY,
} from './queue-state.js';
import type { Script } from './script.js';
import { ALLOW_OOM, CHECK_SEGMENT, FIND_RECORD, QUEUE_AT, RECALL, RECORD } from './script.js';

/** Entries that are read from the log at a time, and how many at most to find one that was not forgotten. */
const READ_AT_ONCE = 100;
const READ_AT_MOST = 1_000;

/** What a repeat answers of the leases of its record "<first lease> <entries>". Needs LEASES, MARKS and IS_DUE. */
const STILL_HELD = `
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
      for index = 1, size do heads[index] = sub(lease.entries, lease.starts[index], lease.starts[index] + ${HEAD_BYTES - 1}) end
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

/**
 * lease: takes entries from the head of the line and hides them for a while, in leases of LEASE_ENTRIES.
 * ARGV: 9 attempts after which an entry is dead (0: never), 10 entries, 0 to answer a repeat only, 11 lease in ms,
 * 12 bytes of payloads, 13 '1' if the first entry may have more.
 * Answers "<first lease> <entries> <flag> <states>\n", then the entries as they are in the leases. Flag: 1 if there is
 * more to look through, 2 if the bytes were too few for another entry, else 0. States, of a repeat only: a character an
 * entry, of which LEASED is still held; an entry of '-' is left out.
 */
export const leaseScript: Script = {
  name: 'unseenLease',
  numberOfKeys: 12,
  lua: `${CHECK_SEGMENT}${FIND_RECORD}${openQueue(QUEUE_AT)}${MARKS}${bringBack('ARGV[9]')}${LEASES}${MOVE_DUE}${IS_DUE}${STILL_HELD}
local items = tonumber(kept[2])
if recalled then
  local first, count = string.match(recalled, '^(%d+) (%d+)$')
  local states, entries = queue.held(tonumber(first), tonumber(count))
  return {first .. ' ' .. count .. ' 0 ' .. states .. '\\n' .. entries, items}
end
local wanted, left, entries, full, read = tonumber(ARGV[10]), tonumber(ARGV[12]), {}, false, 0
if wanted == 0 then return {'0 0 0 \\n', items} end
local late = '(' .. string.format('%.0f', now + ${MAX_LEASE_MS})
local more = queue.moveDue(0, now)
more = queue.moveDue(late, '(+inf') or more
for _, list in ipairs({queue.head, queue.tail}) do
  local from, ended = 1, false
  while #entries < wanted and not full and not ended do
    if read >= ${READ_AT_MOST} and #entries == 0 then more = true break end
    local asked = math.min(${READ_AT_ONCE}, wanted - #entries)
    local found = call('LRANGE', list, from, from + asked - 1)
    local gone = queue.forgotten(found)
    for n = 1, #found do
      if not gone[n] then
        left = left - #found[n] + ${HEAD_BYTES}
        if left < 0 and (#entries > 0 or ARGV[13] ~= '1') then full = true break end
        entries[#entries + 1] = found[n]
      end
      from = from + 1
    end
    read, ended = read + #found, #found < asked
  end
  if from > 1 then
    call('LSET', list, from - 1, '')
    call('LTRIM', list, from - 1, -1)
    call('HINCRBY', meta, 'start:' .. (list == queue.tail and queue.tailNumber or queue.headNumber), from - 1)
  end
  if full or #entries == wanted then break end
end
local flag = full and 2 or more and #entries == 0 and 1 or 0
if #entries == 0 then
  ${TIDY}
  return {'0 0 ' .. flag .. ' \\n', items}
end
local first, fields, ends = queue.given + 1, {}, {}
local till, leases = string.format('%.0f', now + ARGV[11]), math.ceil(#entries / ${LEASE_ENTRIES})
for n = 1, leases do
  local key, at = pack('>I6', first + n - 1), (n - 1) * ${LEASE_ENTRIES}
  fields[2 * n - 1], fields[2 * n] = key, concat(entries, '', at + 1, math.min(at + ${LEASE_ENTRIES}, #entries))
  ends[2 * n - 1], ends[2 * n] = till, key
end
each('HSET', queue.leases, fields)
each('ZADD', queue.ends, ends)
queue.count('given', leases)
queue.count('leased', #entries)
local answers = string.format('%.0f %d', first, #entries)
${RECORD}
return {answers .. ' ' .. flag .. ' \\n' .. concat(entries), items}`,
};

/**
 * settle: ack, release or extend. ARGV: 9 attempts after which an entry is dead (0: never), 10 verb, 11 ms of the delay, or
 * of the extension, 12 reason, 13 per id the lease (6 bytes), the index in it (2) and the first 8 bytes of the item's hash.
 */
export const settleScript: Script = {
  name: 'unseenSettle',
  numberOfKeys: 12,
  lua: `${ALLOW_OOM}${CHECK_SEGMENT}${RECALL}${openQueue(QUEUE_AT)}${MARKS}${bringBack('ARGV[9]')}${LEASES}${IS_DUE}
local verb, packed = ARGV[10], ARGV[13]
local out, keys, known, count = {}, {}, {}, #packed / 16
for n = 1, count do
  local key = sub(packed, n * 16 - 15, n * 16 - 10)
  if not known[key] then keys[#keys + 1], known[key] = key, true end
end
local opened, over, heads = queue.open(keys), {}, {}
for n = 1, #keys do over[keys[n]] = opened[keys[n]] and isDue(call('ZSCORE', queue.ends, keys[n])) end
local places = {}
for n = 1, count do
  local at = n * 16 - 15
  local key, a, b = sub(packed, at, at + 5), byte(packed, at + 6, at + 7)
  local lease, index = opened[key], a * 256 + b + 1
  if not lease then
    local number = unpacked('>I6', key)
    out[n] = number > 0 and number <= queue.given and '2' or '0'
  elseif index > #lease.states or sub(packed, at + 8, at + 15) ~= sub(lease.entries, lease.starts[index] + 14, lease.starts[index] + 21) then
    out[n] = '0'
  else
    local state = lease.states[index]
    if state == ${FORGOTTEN} then
      out[n] = '0'
    elseif state == ${OVER} or state == ${LEASED} and over[key]
      or state == ${EXTENDED} and isDue(call('ZSCORE', queue.ends, sub(packed, at, at + 7))) then
      out[n] = '2'
    else
      heads[#heads + 1] = sub(lease.entries, lease.starts[index], lease.starts[index] + ${HEAD_BYTES - 1})
      places[#places + 1] = n
    end
  end
end
local gone, back, extended = queue.forgotten(heads), {}, {}
for p = 1, #places do
  local n = places[p]
  local key, a, b = sub(packed, n * 16 - 15, n * 16 - 10), byte(packed, n * 16 - 9, n * 16 - 8)
  local lease, index = opened[key], a * 256 + b + 1
  local state = lease.states[index]
  if gone[p] then
    out[n] = '0'
    if state ~= ${FORGOTTEN} then queue.take(lease, index, ${FORGOTTEN}) end
  elseif verb == 'extend' then
    out[n] = '1'
    lease.extended = lease.extended or {}
    lease.extended[index] = true
  elseif state == ${OVER} then
    out[n] = '2'
  else
    out[n] = '1'
    if verb == 'release' then back[#back + 1] = queue.returned(lease, index) end
    queue.take(lease, index, ${OVER})
  end
end
if verb == 'extend' then
  local till, ends = string.format('%.0f', now + ARGV[11]), {}
  for key, lease in pairs(opened) do
    local all = lease.extended ~= nil
    for index = 1, #lease.states do
      local state = lease.states[index]
      if (state == ${LEASED} or state == ${EXTENDED}) and not (all and lease.extended[index]) then all = false end
    end
    if all then ends[#ends + 1], ends[#ends + 2] = till, key end
    for index in pairs(lease.extended or {}) do
      local own = key .. pack('>I2', index - 1)
      if not all then
        ends[#ends + 1], ends[#ends + 2] = till, own
        lease.states[index], lease.changed = ${EXTENDED}, true
      elseif lease.states[index] == ${EXTENDED} then
        call('ZREM', queue.ends, own)
        lease.states[index], lease.changed = ${LEASED}, true
      end
    end
  end
  queue.close(opened)
  each('ZADD', queue.ends, ends)
else
  queue.close(opened)
end
if #back > 0 and ARGV[11] == '0' then
  queue.bringBack(back, ARGV[12])
elseif #back > 0 then
  local dead, delayed, number, till = {}, {}, queue.delays, string.format('%.0f', now + ARGV[11])
  for n = 1, #back do
    if maxAttempts > 0 and unpacked('>I4', back[n]) >= maxAttempts then
      dead[#dead + 1] = back[n]
    else
      number = number + 1
      delayed[#delayed + 1], delayed[#delayed + 2] = till, pack('>I6', number) .. back[n]
    end
  end
  queue.bury(dead, ARGV[12])
  each('ZADD', queue.delayed, delayed)
  queue.count('delays', number - queue.delays)
end
${TIDY}
local answers = concat(out)
${RECORD}
return {answers, tonumber(kept[2])}`,
};
