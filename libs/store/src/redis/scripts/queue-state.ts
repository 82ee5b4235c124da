import { checkSegment, RECORD_FIELDS, recordWith } from './script.js';

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
