/** A Lua script as a value, so that no files are read at run time. */
export interface Script {
  /** Unique, because the client knows a script by its name: another text needs another name. */
  readonly name: string;
  readonly numberOfKeys: number;
  /** More keys may follow. */
  readonly moreKeys?: true;
  readonly lua: string;
}

/** Lua: the server's time as `now`, in ms since the epoch. Every script must read the time with it. */
export const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** The text of a script for which the time is so many ms ahead. */
export function aheadBy(ms: number, lua: string): string {
  return lua.replaceAll(NOW, `${NOW} + ${ms}`);
}

/**
 * How scripts answer. Success is {answers, items}: one ASCII character (48 + value) per item in `answers`, and the
 * segment's item count after the call. Otherwise one of these words is the status reply, and nothing was changed. Scripts
 * on items answer more, and have more words: see items/programs.ts.
 */
export type Refusal = 'LOST' | 'REUSED' | 'EXPIRED';

/** In front of the names that meta has for the layers of a sync. */
export const SYNC = 's:';

/** Counts that meta has of a layer; `ring` in filters that age (../items/aged-cells.ts). */
export type CountName = 'items' | 'nonzero' | 'saturated' | 'ring';

/** The name in meta of a count of a layer of one list. */
export const countOf = (count: CountName, layer: number): string =>
  layer === 0 ? count : `${count}:${layer}`;

/** No number of items: in a reply it stands between the filter's own layers and those of the sync. */
export const END_OF_LIST = -1;

/**
 * First line of scripts that run when the server is at its memory limit, because a call that takes items or entries
 * away must be possible then. They may grow these, each of which has a bound:
 *
 * - operation records, by the bytes of a window;
 * - marks of forgotten items, by the share of the queue at which a sweep begins;
 * - hidden items of a filter that ages, by `maxHidden`;
 * - leases and the places to which a release takes entries, by the entries that are leased;
 * - during a sync, noted removals, by `maxSyncForgets`;
 * - until a sync has copied the queue, notes of entries that leave it, at most one for each entry queued at the opening: an
 *   acknowledgement must not fail because of a sync. At the limit the copy fails, the sync is given up, and the notes go.
 */
export const ALLOW_OOM = '#!lua flags=allow-oom';

/**
 * First lines of every script on a segment. KEYS: 1 cells, 2 meta. ARGV: 1 generation, 2 bytes of the segment.
 * Nothing is answered, and nothing is created, when the segment is missing, short or another generation's.
 *
 * @param fields what else is read of meta, as Lua: it is in `kept` behind the generation and the number of items
 */
export const checkSegment = (...fields: readonly string[]) => `
local cells, meta = KEYS[1], KEYS[2]
local call, byte, sub, char, concat = redis.call, string.byte, string.sub, string.char, table.concat
local kept = call('HMGET', meta, ${["'generation'", "'items'", ...fields].join(', ')})
if kept[1] ~= ARGV[1] or not kept[2] or call('STRLEN', cells) ~= tonumber(ARGV[2]) then
  return redis.status_reply('LOST')
end
`;

export const CHECK_SEGMENT = checkSegment();

/** What a mutation reads of meta: since when there are current records, how many bytes they are, and since when previous ones. */
export const RECORD_FIELDS: readonly string[] = ['since', 'bytes', 'previous'].map(
  (name) => `ARGV[3] .. ':${name}'`,
);

/** As CHECK_SEGMENT, of a mutation. */
export const CHECK_CHANGE = checkSegment(...RECORD_FIELDS);

/**
 * Opens a mutation, after CHECK_CHANGE: finds the record of a repeat, before anything is changed, as `recalled`.
 * KEYS: 3 operations-current, 4 operations-previous.
 * ARGV: 3 origin, 4 record field, 5 fingerprint, 6 window in ms, 7 bytes of records a window may hold,
 * 8 when a made id that came with the request was made, in ms, else ''.
 *
 * An answer from a record writes, though it changes nothing, because the record may not have reached the replicas yet
 * and from Redis 7.2 on WAIT waits only for what its connection has written. The HDEL needs no memory, and lets the
 * HSET pass when the server is at its memory limit.
 */
export const FIND_RECORD = `
local current, previous, origin, field, fingerprint = KEYS[3], KEYS[4], ARGV[3], ARGV[4], ARGV[5]${NOW}
local newer, older = call('HMGET', current, '', field), call('HMGET', previous, '', field)
if not newer[1] or not older[1] or not kept[5] then return redis.status_reply('LOST') end
local record = newer[2] or older[2]
local recalled
if record then
  if sub(record, 1, #fingerprint + 1) ~= fingerprint .. ' ' then return redis.status_reply('REUSED') end
  call('HDEL', meta, 'recalled')
  call('HSET', meta, 'recalled', '1')
  recalled = sub(record, #fingerprint + 2)
elseif ARGV[8] ~= '' and tonumber(ARGV[8]) < tonumber(kept[5]) then
  return redis.status_reply('EXPIRED')
end
`;

/** As FIND_RECORD, and answers a repeat from its record. */
export const RECALL = `${FIND_RECORD}
if recalled then return {recalled, tonumber(kept[2])} end
`;

/**
 * Whether the current records can become the previous ones. That must not happen while the slot is moved to another
 * node: a script that names a key that is missing, if only for a moment, would end half way. During a move either node
 * refuses a command on two keys of which one is missing.
 */
export const CAN_ROTATE = `(type(redis.pcall('EXISTS', current, current .. ':none')) == 'number')`;

/**
 * Closes a mutation: stores \`answers\` as the record, in the same atomic step as the change. A window that is over or
 * full becomes the previous one, and the previous one is deleted. If the slot is being moved, the window goes on for a
 * while.
 *
 * @param fields what else is written to meta, in the same command, as Lua: each a name and a value
 */
export const recordWith = (...fields: readonly string[]) => `
local size = #field + #fingerprint + #answers + 64
local over = now - kept[3] >= tonumber(ARGV[6]) or kept[4] + size > tonumber(ARGV[7])
if over and ${CAN_ROTATE} then
  call('UNLINK', previous)
  call('RENAME', current, previous)
  call('HSET', current, '', '')
  call('HSET', meta, origin .. ':previous', kept[3], origin .. ':since', string.format('%.0f', now),
    ${["origin .. ':bytes', size", ...fields].join(', ')})
else
  call('HSET', meta, ${["origin .. ':bytes', kept[4] + size", ...fields].join(', ')})
end
call('HSET', current, field, fingerprint .. ' ' .. answers)
`;

export const RECORD = recordWith();

/** Adds the local variable of each name to the count of that name, if it is not zero. Returns Lua text. */
export function addCounts(...names: readonly string[]): string {
  return names.map((name) => `if ${name} ~= 0 then call('HINCRBY', meta, '${name}', ${name}) end`).join('\n');
}
