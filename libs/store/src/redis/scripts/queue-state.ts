import { LEASE_ENDED, MAX_LEASE_MS } from '../../store.js';
import { CAN_ROTATE } from './script.js';

/**
 * The queue of a segment, a log. An entry is in one place: it waits in a list of the log, is held by a lease, is delayed,
 * or is a dead letter. Wherever it is, it is these bytes (numbers big-endian):
 *
 *   4 leases so far | 6 birth | 4 discovered at, s | 16 hash of the item | 4 bytes of the payload | payload
 *
 *   log:0, log:1   lists of entries behind a first element that stands for none. New entries go to the end of one of them,
 *                  the tail; the other is empty but during a sweep (scripts/sweep.ts), and in front of the tail then.
 *   leases         lease (6 bytes) -> up to LEASE_ENTRIES entries, as they were before it; and, once they differ,
 *                  lease .. 's' -> how each stands, a character an entry (see LEASED and those after it)
 *   ends           lease -> when it ends, ms; lease .. index (2 bytes) for an entry with an end of its own
 *   delayed        number (6 bytes) .. entry -> when it is back in line, ms
 *   dead           number (6) .. length of the reason (2) .. reason .. entry -> number
 *   marks          hash of an item that was forgotten -> clock at that time. An entry is forgotten if its birth is no
 *                  later: births are of the clock too, which every change that queues something new puts forward.
 *
 * Beside the counts of the segment, meta has clock, leases and dead (last number given), delays (likewise), leased (entries),
 * sweeps (so far: where that is even the tail is log:0), start:0 and start:1 (how far the head of a list has moved on: an element keeps its distance from
 * there), and awaited (until when somebody wants to be told of new entries, ms).
 */
export const LEASE_ENTRIES = 32;

/** Bytes in front of an entry's payload. */
export const HEAD_BYTES = 34;

/** How an entry of a lease stands, as a character code. */
export const LEASED = 48;
export const OVER = 49;
/** Leased, with an end of its own. */
export const EXTENDED = 50;
export const FORGOTTEN = 51;

/** What has become due that one script moves at most: leases, and delayed entries. */
const DUE_LEASES = 8;
const DUE_DELAYED = 250;

/**
 * Opens the queue, after CHECK_SEGMENT. KEYS: its eight, from number `first` on. `queue` has its keys and numbers. `each`
 * calls a command with any number of arguments. All keys are looked at with a command of their kind, so that one that is
 * missing, or another program's, is noticed before anything is changed.
 */
export const openQueue = (first: number) => `
local queue = {leases = KEYS[${first + 2}], ends = KEYS[${first + 3}], delayed = KEYS[${first + 4}],
  dead = KEYS[${first + 5}], marks = KEYS[${first + 6}], oldMarks = KEYS[${first + 7}]}
do
  local found = call('HMGET', meta, 'clock', 'leases', 'leased', 'dead', 'delays', 'sweeps', 'awaited')
  for n = 1, 7 do if not found[n] then return redis.status_reply('LOST') end end
  queue.clock, queue.given, queue.leased = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])
  queue.buried, queue.delays, queue.awaited = tonumber(found[4]), tonumber(found[5]), tonumber(found[7])
  queue.sweeps = tonumber(found[6])
  queue.tailNumber = queue.sweeps % 2
  queue.headNumber = 1 - queue.tailNumber
  queue.tail, queue.head = KEYS[${first} + queue.tailNumber], KEYS[${first} + queue.headNumber]
  queue.sizes = {call('LLEN', queue.head), call('LLEN', queue.tail), call('HLEN', queue.leases), call('ZCARD', queue.ends),
    call('ZCARD', queue.delayed), call('ZCARD', queue.dead), call('HLEN', queue.marks), call('HLEN', queue.oldMarks)}
  for n = 1, 8 do if queue.sizes[n] == 0 then return redis.status_reply('LOST') end end
  queue.marked = queue.sizes[7] + queue.sizes[8] - 2
end
local pack, unpacked = struct.pack, struct.unpack
local function each(command, key, arguments)
  for from = 1, #arguments, 1000 do
    call(command, key, unpack(arguments, from, math.min(#arguments, from + 999)))
  end
end
function queue.count(name, more)
  queue[name] = queue[name] + more
  if more ~= 0 then call('HINCRBY', meta, name == 'given' and 'leases' or name == 'buried' and 'dead' or name, more) end
end
`;

/** `queue.forgotten`: which of these entries, or heads of entries, have been forgotten. */
export const MARKS = `
function queue.forgotten(entries)
  local gone = {}
  if #entries == 0 or queue.marked == 0 then return gone end
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

/**
 * `queue.append`: entries to the end of the line; whoever waits is told. `queue.bringBack`: entries that come back, to the
 * end of the line, or to the dead letters with this reason; none that was forgotten. Answers which were.
 */
export const bringBack = (maxAttempts: string) => `
local maxAttempts = tonumber(${maxAttempts})
function queue.append(entries)
  if #entries == 0 then return end
  each('RPUSH', queue.tail, entries)
  if queue.awaited > now then redis.pcall('PUBLISH', 'unseen:queue:' .. ARGV[1], '') end
end
function queue.bury(entries, reason)
  local letters, number = {}, queue.buried
  for n = 1, #entries do
    number = number + 1
    letters[2 * n - 1] = string.format('%.0f', number)
    letters[2 * n] = pack('>I6I2', number, #reason) .. reason .. entries[n]
  end
  each('ZADD', queue.dead, letters)
  queue.count('buried', #entries)
end
function queue.bringBack(entries, reason)
  local gone, back, dead = queue.forgotten(entries), {}, {}
  for n = 1, #entries do
    if gone[n] then
    elseif maxAttempts > 0 and unpacked('>I4', entries[n]) >= maxAttempts then dead[#dead + 1] = entries[n]
    else back[#back + 1] = entries[n] end
  end
  queue.bury(dead, reason)
  queue.append(back)
  return gone
end
`;

/**
 * `queue.open`: leases by their keys, those that are there. `queue.take`: an entry of a lease, as it comes back.
 * `queue.close`: writes what has changed of open leases; a lease of which nothing is left goes.
 */
export const LEASES = `
function queue.open(keys)
  local fields, opened = {}, {}
  for n = 1, #keys do fields[2 * n - 1], fields[2 * n] = keys[n], keys[n] .. 's' end
  for from = 1, #fields, 1000 do
    local found = call('HMGET', queue.leases, unpack(fields, from, math.min(#fields, from + 999)))
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
function queue.take(lease, index, state)
  if lease.states[index] == ${EXTENDED} then call('ZREM', queue.ends, lease.key .. pack('>I2', index - 1)) end
  lease.states[index], lease.changed = state, true
  queue.left = (queue.left or 0) + 1
end
function queue.returned(lease, index)
  local entry = sub(lease.entries, lease.starts[index], lease.starts[index + 1] - 1)
  return pack('>I4', unpacked('>I4', entry) + 1) .. sub(entry, 5)
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
  each('HDEL', queue.leases, over)
  each('HSET', queue.leases, states)
  queue.count('leased', -(queue.left or 0))
  queue.left = 0
end
`;

/**
 * `queue.moveDue`: brings back what has a time in this range, in the order of these times, but not too much at once.
 * Answers whether there was anything. Needs MARKS, bringBack and LEASES.
 */
export const MOVE_DUE = `
function queue.moveDue(from, to)
  local ends = call('ZRANGEBYSCORE', queue.ends, from, to, 'WITHSCORES', 'LIMIT', 0, ${DUE_LEASES})
  local delayed = call('ZRANGEBYSCORE', queue.delayed, from, to, 'WITHSCORES', 'LIMIT', 0, ${DUE_DELAYED})
  if #ends + #delayed == 0 then return false end
  local last = math.huge
  if #ends == ${2 * DUE_LEASES} then last = tonumber(ends[#ends]) end
  if #delayed == ${2 * DUE_DELAYED} then last = math.min(last, tonumber(delayed[#delayed])) end
  local keys, known = {}, {}
  for n = 1, #ends, 2 do
    local key = sub(ends[n], 1, 6)
    if not known[key] then keys[#keys + 1], known[key] = key, true end
  end
  local opened, back, over, e, d = queue.open(keys), {}, {}, 1, 1
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
          back[#back + 1] = queue.returned(lease, index)
          queue.take(lease, index, ${OVER})
        end
      end
      e = e + 2
    else
      if tonumber(delayed[d + 1]) > last then break end
      over[#over + 1] = delayed[d]
      back[#back + 1] = sub(delayed[d], 7)
      d = d + 2
    end
  end
  queue.close(opened)
  each('ZREM', queue.delayed, over)
  queue.bringBack(back, '${LEASE_ENDED}')
  return true
end
`;

/** Whether an end or a delay is over. A time too far ahead was given before the clock was set back. */
export const IS_DUE = `
local function isDue(at)
  return not at or tonumber(at) <= now or tonumber(at) > now + ${MAX_LEASE_MS}
end
`;

/** Lets go of the marks once nothing is queued that they could mean. */
export const TIDY = `
if queue.marked > 0 and queue.leased == 0 and call('LLEN', queue.tail) + call('LLEN', queue.head) == 2
  and call('ZCARD', queue.delayed) + call('ZCARD', queue.dead) == 2 and ${CAN_ROTATE} then
  call('UNLINK', queue.marks, queue.oldMarks)
  call('HSET', queue.marks, '', '')
  call('HSET', queue.oldMarks, '', '')
end
`;
