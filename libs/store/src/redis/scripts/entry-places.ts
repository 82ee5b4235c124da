import { chunkOf } from './lanes.js';
import { leases, marks } from './queue-moves.js';
import { EXTENDED, HEAD_BYTES, idBytes, LEASED, SCHEDULED } from './queue-state.js';

/**
 * An entry's place in its segment: a letter for its state, and numbers that no other place has. If an entry comes back
 * to the chunk it was leased from, its place is the same as before the lease.
 *
 *   w   waiting: its log (1 byte: the number of its priority in lanes.ts), and the number of its chunk (6)
 *   l   leased: the lease (6), and its index in it (2)
 *   d   delayed, s scheduled: the score (8), and the number (6)
 *   x   dead: the number (6)
 */
const NUMBER_BYTES: Readonly<Record<string, number>> = { w: 7, l: 8, d: 14, s: 14, x: 6 };

/** Bytes of a birth, a hash, and in a per-host queue the second word of the host's hash. */
const nameBytes = (hosts: boolean): number => (hosts ? 26 : 22);

/** True if these bytes have the format of a place. */
export function isPlace(bytes: Uint8Array): boolean {
  return bytes.length === 1 + (NUMBER_BYTES[String.fromCharCode(bytes[0] ?? 0)] ?? NaN);
}

/** `inChunks` compares waiting entries in these places. */
const inChunks = (hosts: boolean): string => `
local function inChunks(numbers, places, names, compare)
  ${
    hosts
      ? `local ids = {}
  for i = 1, #numbers do
    local name = names[numbers[i]]
    ids[i] = sub(name, 7, 10) .. sub(name, 23)
  end
  queue.lanesOf(ids)`
      : ''
  }
  local fields, starts, wanted = {}, {}, {}
  for i = 1, #numbers do
    local name, place = names[numbers[i]], places[numbers[i]]
    local lane, priority, number = ${hosts ? 'lanes[ids[i]]' : 'queue'}, unpacked('>BI6', place, 2)
    local log = priority == 0 and lane or lane.logs and lane.logs[priority]
    if log then
      local field = ${chunkOf('log', 'number')}
      if not wanted[field] then
        fields[#fields + 1], wanted[field] = field, {}
        starts[#fields] = number == log.head and log.headAt or 0
      end
      wanted[field][name], wanted[field][sub(name, 7, 22)] = numbers[i], true
    end
  end
  local chunks = #fields > 0 and call('HMGET', queue.chunks, unpack(fields)) or {}
  for c = 1, #fields do
    local chunk, at, here = chunks[c] or '', starts[c], wanted[fields[c]]
    while at < #chunk do
      -- Compare the hash first, because that rules out most entries.
      local n = here[sub(chunk, at + 15, at + 30)] and here[nameAt(chunk, at)]
      if n then compare(n, chunk, at) end
      local i, j, k, l = byte(chunk, at + 31, at + 34)
      at = at + ${HEAD_BYTES} + ((i * 256 + j) * 256 + k) * 256 + l
    end
  end
end
`;

/** `inLeases` compares the leased entries in these places. Needs leases. */
const IN_LEASES = `
local function inLeases(numbers, places, compare)
  local keys, asked = {}, {}
  for i = 1, #numbers do
    local key = sub(places[numbers[i]], 2, 7)
    if not asked[key] then keys[#keys + 1], asked[key] = key, true end
  end
  local opened = queue.open(keys)
  for _, n in ipairs(numbers) do
    local lease, index = opened[sub(places[n], 2, 7)], unpacked('>I2', places[n], 8) + 1
    local state = lease and lease.states[index]
    if state == ${LEASED} or state == ${EXTENDED} then compare(n, lease.entries, lease.starts[index] - 1) end
  end
end
`;

/**
 * `delayedAt` finds the delayed entry with this score and number. Entries with the same score are ordered by number.
 * Searches by rank, because an offset within a range of scores costs a step for each entry before it.
 */
const DELAYED_AT = `
local function delayedAt(at, number)
  local score = string.format('%.0f', at)
  local before = call('ZCOUNT', queue.delayed, '-inf', '(' .. score)
  local from, to = 0, call('ZCOUNT', queue.delayed, score, score) - 1
  local function memberAt(place)
    local member = call('ZRANGE', queue.delayed, before + place, before + place)[1]
    return member, (unpacked('>I6', member))
  end
  if to < 0 then return nil end
  -- Numbers have few gaps, so the search starts at the highest possible place.
  local _, first = memberAt(0)
  to = math.min(to, number - first)
  local place = to
  while from <= to do
    local member, found = memberAt(place)
    if found == number then return member end
    if found < number then from = place + 1 else to = place - 1 end
    place = math.floor((from + to) / 2)
  end
end
`;

/**
 * `queue.entriesAt` takes packed entry names (../layout/entry-names.ts). It returns the first bytes (idBytes) of the
 * entries that are still in their places, by number in the batch. It also returns the size of the batch. When an
 * entry's lease or delay ends, the entry stays in its place until a script moves it. A forgotten or dropped entry has
 * no place. Includes marks and leases. Needs LANE_RECORDS in a per-host queue.
 */
export const entriesAt = (hosts: boolean): string => `${marks(hosts)}${leases(false)}
-- The name of the entry that begins after this byte: its birth, its hash, and its host's word.
local function nameAt(bytes, at)
  return sub(bytes, at + 5, at + 10) .. sub(bytes, at + 15, at + 30)${hosts ? ' .. sub(bytes, at + 35, at + 38)' : ''}
end
${inChunks(hosts)}${IN_LEASES}${DELAYED_AT}
function queue.entriesAt(packed)
  local places, names, of, at = {}, {}, {w = {}, l = {}, d = {}, s = {}, x = {}}, 1
  while at <= #packed do
    local last, n = at + byte(packed, at), #places + 1
    places[n] = sub(packed, at + 1, last)
    at = last + 1
    if places[n] ~= '' then
      names[n] = sub(packed, at, at + ${nameBytes(hosts) - 1})
      at = at + ${nameBytes(hosts)}
      local numbers = of[sub(places[n], 1, 1)]
      numbers[#numbers + 1] = n
    end
  end
  local heads = {}
  local function compare(n, bytes, at)
    if nameAt(bytes, at) == names[n] then heads[n] = sub(bytes, at + 1, at + ${idBytes(hosts)}) end
  end
  inChunks(of.w, places, names, compare)
  inLeases(of.l, places, compare)
  for _, letter in ipairs({'d', 's'}) do
    for _, n in ipairs(of[letter]) do
      local at, number = unpacked('>I8I6', places[n], 2)
      local member = (letter == 's') == (at >= ${SCHEDULED}) and delayedAt(at, number)
      if member then compare(n, member, 6) end
    end
  end
  for _, n in ipairs(of.x) do
    local number = string.format('%.0f', (unpacked('>I6', places[n], 2)))
    local letter = call('ZRANGEBYSCORE', queue.letters, number, number)[1] or ''
    if letter ~= '' then compare(n, letter, 8 + unpacked('>I2', letter, 7)) end
  end
  local live, numbers = {}, {}
  for n = 1, #places do
    if heads[n] then live[#live + 1], numbers[#live + 1] = heads[n], n end
  end
  for i in pairs(queue.forgotten(live)) do heads[numbers[i]] = nil end
  return heads, #places
end
`;
