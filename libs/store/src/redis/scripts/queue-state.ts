import { LEASE_ENDED, MAX_LEASE_MS } from '../../port/index.js';
import { CAN_ROTATE, checkSegment, RECORD_FIELDS, recordWith } from './script.js';

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
 * Beside the counts of the segment, meta has numbers of the queue: clock; leases, dead and delays (last number given); leased (entries); sweeps (so
 * far: where that is even the tail is log:0) and sweeping (1 while one is under way); start0 and start1 (how far the
 * head of a list has moved on: an element keeps its distance from there); marked (marks there are); due (no later than
 * the first end of a lease or a delay, ms; 0 if there is none); and awaited (until when somebody wants to be told of new
 * entries, ms).
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

/** Number of the first of a queue's keys in KEYS: behind cells and meta; in scripts that change something behind the records, too. */
const READ_KEYS_AT = 3;
export const CHANGE_KEYS_AT = 5;
/** Number in KEYS, behind those of the queue, of the entries owed to its copy for a sync; of scripts that change it. */
export const OWED_KEY_AT = CHANGE_KEYS_AT + 8;

/** In meta, while the queue is to be copied for a sync: the clock when that was opened. */
export const OWING_FIELD = 's:clock';

/** What meta has of the queue, in one field: 6 bytes each. Read and written one by one they took a quarter of a lease's time. */
export const QUEUE_NUMBERS = [
  ...([
    'clock',
    'leases',
    'leased',
    'dead',
    'delays',
    'sweeps',
    'sweeping',
    'marked',
    'due',
    'awaited',
  ] as const),
  ...(['start0', 'start1'] as const),
];
export const QUEUE_FIELD = 'queue';
const FORMAT = `>${'I6'.repeat(QUEUE_NUMBERS.length)}`;

/** Lua: the numbers of an open queue. */
const PACKED = `struct.pack('${FORMAT}', ${QUEUE_NUMBERS.map((name) => `queue.${name}`).join(', ')})`;

/** Where the lists of the log begin to count, so that a sweep, which counts down, stays above zero. */
const START = 2 ** 40;

/** Lua: the numbers of an empty queue. */
export const EMPTY_QUEUE = `struct.pack('${FORMAT}', ${QUEUE_NUMBERS.map((name) => (name.startsWith('start') ? START : 0)).join(', ')})`;

/**
 * Opens the queue. All its keys are asked for their size first, each by a command of its kind: so one that is missing, or
 * another program's, is noticed before anything is changed. `queue` has its keys and numbers; those that are set are written
 * together, by `queue.save`. `each` calls a command with any number of arguments.
 */
const openQueue = (keysAt: number, fieldAt: number) => `
local sizes = {call('LLEN', KEYS[${keysAt}]), call('LLEN', KEYS[${keysAt + 1}]), call('HLEN', KEYS[${keysAt + 2}]),
  call('ZCARD', KEYS[${keysAt + 3}]), call('ZCARD', KEYS[${keysAt + 4}]), call('ZCARD', KEYS[${keysAt + 5}]),
  call('HLEN', KEYS[${keysAt + 6}]), call('HLEN', KEYS[${keysAt + 7}])}
for n = 1, 8 do
  if sizes[n] == 0 then return redis.status_reply('LOST') end
end
if not kept[${fieldAt}] or #kept[${fieldAt}] ~= ${6 * QUEUE_NUMBERS.length} then return redis.status_reply('LOST') end
local queue = {logs = {[0] = KEYS[${keysAt}], KEYS[${keysAt + 1}]}, leaseKey = KEYS[${keysAt + 2}], ends = KEYS[${keysAt + 3}],
  delayed = KEYS[${keysAt + 4}], letters = KEYS[${keysAt + 5}], marks = KEYS[${keysAt + 6}], oldMarks = KEYS[${keysAt + 7}]}
${QUEUE_NUMBERS.map((name) => `queue.${name}`).join(', ')} = struct.unpack('${FORMAT}', kept[${fieldAt}])
queue.tail = queue.sweeps % 2
queue.waiting, queue.later, queue.letterCount = sizes[1] + sizes[2] - 2, sizes[5] - 1, sizes[6] - 1
local pack, unpacked = struct.pack, struct.unpack
local function each(command, key, arguments)
  for from = 1, #arguments, 1000 do
    call(command, key, unpack(arguments, from, math.min(#arguments, from + 999)))
  end
end
function queue.set(name, value)
  queue[name], queue.changed = value, true
end
function queue.save()
  if queue.changed then call('HSET', meta, '${QUEUE_FIELD}', ${PACKED}) end
end
`;

/** As RECORD, and saves the numbers of the queue in the same command. */
export const RECORD_QUEUE = recordWith(`'${QUEUE_FIELD}', ${PACKED}`);

/** First lines of a script that reads the queue. KEYS: 3 and on, the queue's. */
export const CHECK_QUEUE = `${checkSegment(`'${QUEUE_FIELD}'`)}${openQueue(READ_KEYS_AT, 3)}`;

/** First lines of a script that changes the queue, before its record is looked for. KEYS: 5 and on, the queue's. */
export const CHECK_QUEUE_CHANGE = checkSegment(...RECORD_FIELDS, `'${QUEUE_FIELD}'`);
/**
 * The lines behind CHECK_QUEUE_CHANGE. `queue.owe` notes entries that leave a lease, a delay or the dead letters, because the
 * copy of the queue for a sync may miss them; the copy keeps them at its end. Each is noted once, and only if it was queued
 * before the sync was opened, so the copy ends however fast entries move.
 *
 * @param owes Lua: whether the script has a key for that. It has one in a segment that takes part in a sync.
 */
export const openQueueToChange = (owes: string) => `${openQueue(CHANGE_KEYS_AT, 3 + RECORD_FIELDS.length)}
if ${owes} then
  queue.owed = KEYS[${OWED_KEY_AT}]
  if call('ZCARD', queue.owed) == 0 then return redis.status_reply('LOST') end
  queue.owing = tonumber(call('HGET', meta, '${OWING_FIELD}') or '')
end
function queue.owe(entries)
  if not queue.owing then return end
  local owed, last = {}, tonumber(call('ZRANGE', queue.owed, -1, -1, 'WITHSCORES')[2])
  for n = 1, #entries do
    if unpacked('>I6', entries[n], 5) <= queue.owing then
      owed[#owed + 1], owed[#owed + 2] = string.format('%.0f', last + n), sub(entries[n], 15, 30)
    end
  end
  for from = 1, #owed, 1000 do
    call('ZADD', queue.owed, 'NX', unpack(owed, from, math.min(#owed, from + 999)))
  end
end
`;
/** Of a script whose last key is that one, if it has it. */
export const OPEN_QUEUE = openQueueToChange(`#KEYS >= ${OWED_KEY_AT}`);

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
  each('RPUSH', queue.logs[queue.tail], entries)
  if queue.awaited > now then redis.pcall('PUBLISH', 'unseen:queue:' .. sub(ARGV[1], 1, 16), '') end
end
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
end
function queue.bringBack(entries, reason)
  local gone, live, back, dead = queue.forgotten(entries), {}, {}, {}
  for n = 1, #entries do
    if not gone[n] then
      live[#live + 1] = entries[n]
      if maxAttempts > 0 and unpacked('>I4', entries[n]) >= maxAttempts then dead[#dead + 1] = entries[n]
      else back[#back + 1] = entries[n] end
    end
  end
  queue.owe(live)
  queue.bury(dead, reason)
  queue.append(back)
  return gone
end
`;

/**
 * `queue.open`: leases by their keys, those that are there. `queue.take`: an entry out of its lease. `queue.forget`:
 * those that were forgotten. `queue.returned`: an entry as it comes back, leased so many times more.
 * `queue.close`: writes what has changed of open leases; a lease of which nothing is left goes.
 */
export const LEASES = `
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
function queue.take(lease, index, state)
  if lease.states[index] == ${EXTENDED} then call('ZREM', queue.ends, lease.key .. pack('>I2', index - 1)) end
  lease.states[index], lease.changed = state, true
  queue.left = (queue.left or 0) + 1
end
function queue.forget(lease)
  local heads, indexes = {}, {}
  for index = 1, #lease.states do
    if lease.states[index] == ${LEASED} or lease.states[index] == ${EXTENDED} then
      heads[#heads + 1] = sub(lease.entries, lease.starts[index], lease.starts[index] + ${HEAD_BYTES - 1})
      indexes[#heads] = index
    end
  end
  for n in pairs(queue.forgotten(heads)) do queue.take(lease, indexes[n], ${FORGOTTEN}) end
end
function queue.returned(lease, index, leases)
  local entry = sub(lease.entries, lease.starts[index], lease.starts[index + 1] - 1)
  return pack('>I4', unpacked('>I4', entry) + leases) .. sub(entry, 5)
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
  if queue.left then queue.set('leased', queue.leased - queue.left) end
  queue.left = nil
end
`;

/** `queue.dueAt`: something is to be brought back at this time. */
export const DUE_AT = `
function queue.dueAt(at)
  if queue.due == 0 or at < queue.due then queue.set('due', at) end
end
`;

/** Lua: whether anything may be due. A time too far ahead was given before the clock was set back. */
export const MAY_BE_DUE = `(queue.due > 0 and (queue.due <= now or queue.due > now + ${MAX_LEASE_MS}))`;

/**
 * `queue.moveDue`: brings back what is due, in the order of its times, but not too much at once. `queue.due` is no later
 * than the first time there is, or 0 if there is none. Answers whether there may be more. Needs MARKS, bringBack and LEASES.
 */
export const MOVE_DUE = `
local function move(from, to)
  local ends = call('ZRANGEBYSCORE', queue.ends, from, to, 'WITHSCORES', 'LIMIT', 0, ${DUE_LEASES})
  local delayed = call('ZRANGEBYSCORE', queue.delayed, from, to, 'WITHSCORES', 'LIMIT', 0, ${DUE_DELAYED})
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
          back[#back + 1] = queue.returned(lease, index, 1)
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
  return last < math.huge
end
function queue.moveDue()
  local late = now + ${MAX_LEASE_MS}
  if not ${MAY_BE_DUE} then return false end
  local more = move(0, now)
  more = move(string.format('(%.0f', late), '+inf') or more
  local due = math.huge
  for _, key in ipairs({queue.ends, queue.delayed}) do
    due = math.min(due, tonumber(call('ZRANGE', key, 1, 1, 'WITHSCORES')[2] or math.huge))
  end
  queue.set('due', due < math.huge and due or 0)
  return more
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
if queue.marked > 0 and queue.leased == 0 and call('LLEN', queue.logs[0]) + call('LLEN', queue.logs[1]) == 2
  and call('ZCARD', queue.delayed) + call('ZCARD', queue.letters) == 2 and ${CAN_ROTATE} then
  call('UNLINK', queue.marks, queue.oldMarks)
  call('HSET', queue.marks, '', '')
  call('HSET', queue.oldMarks, '', '')
  queue.set('marked', 0)
end
`;
