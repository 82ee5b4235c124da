import type { PerHost, Priority } from '../../port/index.js';
import { checkSegment, RECORD_FIELDS, recordWith, type Script, verbOf } from './script.js';

/*
 * An entry in a segment's queue is in one place: it waits in a lane, is held by a lease, is delayed or scheduled, or is
 * a dead letter. In each place it has these bytes (numbers big-endian):
 *
 *   1 priority | 3 leases so far | 6 birth | 4 discovered at, s | 16 hash of the item | 4 bytes of the payload | payload
 *
 *   chunks         the lanes (lanes.ts): chunk -> waiting entries, one after the other
 *   leases         lease (6 bytes) -> up to LEASE_ENTRIES entries, as they were before it. Once their states
 *                  differ: lease .. 's' -> their states, one character each (see LEASED and those after it)
 *   ends           lease -> when it ends, ms; lease .. index (2 bytes) for an entry with a separate end
 *   delayed        number (6 bytes) .. entry -> when it is available again, ms; if it is scheduled, SCHEDULED + ms
 *   dead           number (6) .. length of the reason (2) .. reason .. entry -> number
 *   marks          hash of a forgotten item -> clock at that time. An entry is forgotten if its birth is no later than
 *                  the mark. Births are values of the clock, which every change that queues new entries advances. The
 *                  mark of an entry that was dropped is its birth.
 *
 * Besides the segment's counts, meta has the queue's numbers:
 *
 *   clock          see `marks`
 *   leases         the last number given to a lease; likewise `dead` and `delays`
 *   leased         number of leased entries
 *   sweeping       1 during a sweep
 *   marked         number of marks
 *   due            a lower bound of the first end of a lease or delay, ms; 0 if none
 *   awaited        until when a caller waits for new entries, ms
 *   rewrites       how often sweeps have moved entries within their chunks
 *
 * A queue without per-host lanes is its own only lane. So the record of that lane follows (lanes.ts). A per-host queue
 * has different numbers there, and two more keys (host-lanes.ts). A queue is ordered once it has had an entry with a
 * priority or a time. Then more numbers follow:
 *
 *   scheduled      number of scheduled entries
 *   scheduledAt    a lower bound of their first time, ms
 *   checking       see unclaimed.ts, also for `checkingTill`
 *   logs           see lanes.ts
 */

/** A script on queues. Its text depends on whether the queue is per-host. */
export interface QueueScript {
  readonly plain: Script;
  readonly hosts: Script;
}

/** Creates both scripts. `of` gets whether the queue is per-host. */
export function forQueues(of: (hosts: boolean) => Script): QueueScript {
  const hosts = of(true);
  return { plain: of(false), hosts: { ...hosts, name: `${hosts.name}Hosts`, verb: verbOf(hosts) } };
}

/** The script for a set's queue. */
export const scriptFor = ({ perHost }: { readonly perHost?: PerHost }, script: QueueScript): Script =>
  perHost ? script.hosts : script.plain;

/** Maximum number of entries in one lease. */
export const LEASE_ENTRIES = 32;

/** Bytes of an entry before its payload. */
export const HEAD_BYTES = 34;
/** Bytes that a per-host queue adds to the payload. See host-lanes.ts. */
export const HOST_BYTES = 4;
/** The bytes of an entry that identify its item, its lane, and when it was created. */
export const idBytes = (hosts: boolean): number => HEAD_BYTES + (hosts ? HOST_BYTES : 0);

/** The first byte of an entry is its priority's index here. */
export const STORED_PRIORITIES: readonly Priority[] = ['normal', 'high', 'low'];
/** Maximum number of leases that an entry counts. */
export const MOST_LEASES = 2 ** 24 - 1;

/**
 * Added to the times of scheduled entries among the delayed ones, so that the two kinds have separate ranges. The sums
 * are exact, because times in ms stay below 2^42.
 */
export const SCHEDULED = 2 ** 50;

/** States of an entry in a lease, as character codes. */
export const LEASED = 48;
export const OVER = 49;
/** Leased, with a separate end. */
export const EXTENDED = 50;
export const FORGOTTEN = 51;

/**
 * Index in KEYS of the queue's first key. It comes after cells and meta. In scripts that change the queue, it also
 * comes after the records.
 */
const READ_KEYS_AT = 3;
export const CHANGE_KEYS_AT = 5;
export const queueKeyCount = (hosts: boolean): number => (hosts ? 9 : 7);
/** Number of KEYS up to the queue's last, in scripts that read the queue and in those that change it. */
export const queueReadKeys = (hosts: boolean): number => READ_KEYS_AT + queueKeyCount(hosts) - 1;
export const queueChangeKeys = (hosts: boolean): number => CHANGE_KEYS_AT + queueKeyCount(hosts) - 1;
/**
 * Index in KEYS of the entries owed to a sync's copy of the queue. In scripts that change the queue, it follows the
 * queue's keys.
 */
export const owedKeyAt = (hosts: boolean): number => queueChangeKeys(hosts) + 1;

/** Fields of meta during a sync: the clock when it was opened, and '1' once the queue is copied. */
export const OPENED_FIELD = 's:clock';
export const COPIED_FIELD = 's:copied';
/** Notes for the copy of the queue have lower scores than this, and notes for a sync's commit have higher ones. */
export const CAME_DUE = 2 ** 50;

/** The only lane's record. See lanes.ts. */
const ONLY_LANE = ['head', 'headAt', 'next', 'waiting'] as const;
/** See host-lanes.ts. */
const OF_HOSTS = [
  ...(['waiting', 'turn', 'seenAt', 'aheadMs'] as const),
  ...(['dropped', 'sweptDrop', 'sweepingDrop', 'delayedVoid', 'scheduledVoid', 'deadVoid'] as const),
];

const OF_ALL = [
  ...(['clock', 'leases', 'leased', 'dead', 'delays', 'sweeping', 'marked', 'due'] as const),
  ...(['awaited', 'rewrites'] as const),
];

/**
 * The queue's numbers in meta, 6 bytes each in one field. As single fields, reading and writing them took a quarter of
 * a lease's time.
 */
export const QUEUE_NUMBERS = [...OF_ALL, ...ONLY_LANE];
export const HOST_QUEUE_NUMBERS = [...OF_ALL, ...OF_HOSTS];
const numbersOf = (hosts: boolean): readonly string[] => (hosts ? HOST_QUEUE_NUMBERS : QUEUE_NUMBERS);
export const QUEUE_FIELD = 'queue';

/** The last numbers of an ordered queue. Hosts have their own logs. */
export const ORDERED = ['scheduled', 'scheduledAt', 'checking', 'checkingTill'];
const OTHER_LOGS = [1, 2].flatMap((log) => ['head', 'headAt', 'next'].map((name) => `logs[${log}].${name}`));
const orderedOf = (hosts: boolean): readonly string[] => (hosts ? ORDERED : [...OTHER_LOGS, ...ORDERED]);

/** Lua: empty logs of high and low entries for the lane with this id. */
export const newLogs = (id: string): string => {
  const log = (number: number) => `{id = ${id} .. '\\${number}', head = 0, headAt = 0, next = 0}`;
  return `{${log(1)}, ${log(2)}}`;
};

/** Size of the numbers in bytes. They are all 0 in an empty queue. */
export const queueBytes = (hosts: boolean): number => 6 * numbersOf(hosts).length;
export const orderedBytes = (hosts: boolean): number => queueBytes(hosts) + 6 * orderedOf(hosts).length;

const formatOf = (numbers: readonly string[]): string => `'>${'I6'.repeat(numbers.length)}'`;

/** Lua: the variables of an open queue for numbers. */
const variables = (numbers: readonly string[]): string => numbers.map((name) => `queue.${name}`).join(', ');

const packed = (hosts: boolean): string => {
  const pack = (numbers: readonly string[]) => `struct.pack(${formatOf(numbers)}, ${variables(numbers)})`;
  return `${pack(numbersOf(hosts))} .. (queue.ordered and ${pack(orderedOf(hosts))} or '')`;
};

/**
 * Opens the queue. First reads the size of each key with a command for its type, to detect a missing or foreign key
 * before anything changes. `queue` has the keys and numbers. `queue.save` writes all numbers that were set, in one
 * command. `queue.order` makes the queue ordered, before it gets an entry with a priority or a time. `each` calls a
 * command with any number of arguments.
 */
const openQueue = (hosts: boolean, keysAt: number, fieldAt: number) => `
local sizes = {call('HLEN', KEYS[${keysAt}]), call('HLEN', KEYS[${keysAt + 1}]), call('ZCARD', KEYS[${keysAt + 2}]),
  call('ZCARD', KEYS[${keysAt + 3}]), call('ZCARD', KEYS[${keysAt + 4}]), call('HLEN', KEYS[${keysAt + 5}]),
  call('HLEN', KEYS[${keysAt + 6}])${hosts ? `, call('HLEN', KEYS[${keysAt + 7}]), call('ZCARD', KEYS[${keysAt + 8}])` : ''}}
for n = 1, ${queueKeyCount(hosts)} do
  if sizes[n] == 0 then return redis.status_reply('LOST') end
end
local numbers = kept[${fieldAt}] or ''
if #numbers ~= ${queueBytes(hosts)} and #numbers ~= ${orderedBytes(hosts)} then return redis.status_reply('LOST') end
local queue = {chunks = KEYS[${keysAt}], leaseKey = KEYS[${keysAt + 1}], ends = KEYS[${keysAt + 2}],
  delayed = KEYS[${keysAt + 3}], letters = KEYS[${keysAt + 4}], marks = KEYS[${keysAt + 5}], oldMarks = KEYS[${keysAt + 6}],
  ${hosts ? `laneKey = KEYS[${keysAt + 7}], turns = KEYS[${keysAt + 8}], hosts = sizes[8] - 1` : `id = ''`}}
${variables(numbersOf(hosts))} = struct.unpack(${formatOf(numbersOf(hosts))}, numbers)
queue.later, queue.letterCount = sizes[4] - 1, sizes[5] - 1
local pack, unpacked = struct.pack, struct.unpack
local function each(command, key, arguments)
  for from = 1, #arguments, 1000 do
    call(command, key, unpack(arguments, from, math.min(#arguments, from + 999)))
  end
end
function queue.set(name, value)
  queue[name], queue.changed = value, true
end
queue.scheduled, queue.scheduledAt, queue.checking, queue.checkingTill = 0, 0, 0, 0
function queue.order()
  if queue.ordered then return end
  queue.ordered${hosts ? ' = true' : `, queue.logs = true, ${newLogs(`''`)}`}
end
if #numbers > ${queueBytes(hosts)} then
  queue.order()
  ${variables(orderedOf(hosts))} = unpacked(${formatOf(orderedOf(hosts))}, numbers, ${queueBytes(hosts) + 1})
end
function queue.save()
  if queue.changed then call('HSET', meta, '${QUEUE_FIELD}', ${packed(hosts)}) end
end
`;

/** Like RECORD, but also saves the queue's numbers in the same command. */
export const recordQueue = (hosts: boolean): string => recordWith(`'${QUEUE_FIELD}', ${packed(hosts)}`);

/** First lines of a script that reads the queue. KEYS: 3 and on, the queue's. */
export const checkQueue = (hosts: boolean): string =>
  `${checkSegment(`'${QUEUE_FIELD}'`)}${openQueue(hosts, READ_KEYS_AT, 3)}`;

/**
 * First lines of a script that changes the queue. The lookup of the record follows them. KEYS: 5 and on, the queue's.
 */
export const CHECK_QUEUE_CHANGE = checkSegment(...RECORD_FIELDS, `'${QUEUE_FIELD}'`);
/**
 * The lines after CHECK_QUEUE_CHANGE. `queue.owe` notes entries that leave a lease, a delay or the dead letters,
 * because the copy of the queue for a sync may miss them. When the copy ends, it keeps their items. Each entry is noted
 * once, and only if it was queued before the sync was opened. So the copy ends however fast entries move.
 *
 * After the copy, `queue.owe` notes only `cameDue`: the scheduled entries that come due, for the commit (see
 * unclaimed.ts). A note has the entry's birth (6 bytes) and hash. Each entry is noted only once, even if it is
 * scheduled again. An entry queued later needs no note: its item was new then, and an add keeps new items in the sync.
 *
 * @param owes Lua: whether the script has a key for these notes. It has one if the segment takes part in a sync.
 */
export const openQueueToChange = (
  hosts: boolean,
  owes: string,
) => `${openQueue(hosts, CHANGE_KEYS_AT, 3 + RECORD_FIELDS.length)}
if ${owes} then
  queue.owed = KEYS[${owedKeyAt(hosts)}]
  if call('ZCARD', queue.owed) == 0 then return redis.status_reply('LOST') end
  local sync = call('HMGET', meta, '${OPENED_FIELD}', '${COPIED_FIELD}')
  queue.opened, queue.owing = tonumber(sync[1] or 0), sync[2] ~= '1'
end
function queue.owe(entries, cameDue)
  if not queue.owing then entries = queue.owed and cameDue or {} end
  if #entries == 0 then return end
  local owed, last = {}, tonumber(call('ZRANGE', queue.owed, -1, -1, 'WITHSCORES')[2])
  if not queue.owing then last = math.max(last, ${CAME_DUE}) end
  for n = 1, #entries do
    if unpacked('>I6', entries[n], 5) <= queue.opened then
      owed[#owed + 1] = string.format('%.0f', last + n)
      local hash = sub(entries[n], 15, 30)
      owed[#owed + 1] = queue.owing and hash${hosts ? ' .. sub(entries[n], 35, 38)' : ''} or sub(entries[n], 5, 10) .. hash
    end
  end
  for from = 1, #owed, 1000 do
    call('ZADD', queue.owed, 'NX', unpack(owed, from, math.min(#owed, from + 999)))
  end
end
`;
/** For scripts whose last key, if present, is the one for owed entries. */
export const openChanged = (hosts: boolean): string =>
  openQueueToChange(hosts, `#KEYS >= ${owedKeyAt(hosts)}`);
