/** A Lua script as a value, so the service reads no script files at run time. */
export interface Script {
  /** Unique, because the client identifies a script by its name. A different text needs a different name. */
  readonly name: string;
  /** The name in metrics, if scripts with different names share one. See `verbOf`. */
  readonly verb?: string;
  readonly numberOfKeys: number;
  /** True if more keys may follow. */
  readonly moreKeys?: true;
  readonly lua: string;
}

/** A script's name in metrics. Only a fixed number exist, because the layers of a filter are not part of it. */
export function verbOf({ name, verb }: Pick<Script, 'name' | 'verb'>): string {
  let known = verb ?? VERBS.get(name);
  if (known === undefined) {
    const words = name.replace(/^unseen/, '').match(/[A-Z][a-z]*/g) ?? [];
    known = words.join('-').toLowerCase();
    VERBS.set(name, known);
  }
  return known;
}

const VERBS = new Map<string, string>();

/** Lua: the server's time as `now`, in ms since the epoch. Scripts must not read the time in any other way. */
export const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/**
 * The script with its last argument, in ms, added to its time. The offset is no part of the text, because Redis
 * compiles and keeps each text that it gets.
 */
export function shifted({ name, lua, ...rest }: Script): Script {
  const [flags = ''] = /^#!.*\n/.exec(lua) ?? [];
  const moved = lua.slice(flags.length).replaceAll(NOW, `${NOW} + shiftMs`);
  return { ...rest, name: `${name}+`, lua: `${flags}local shiftMs = tonumber(table.remove(ARGV))\n${moved}` };
}

/**
 * Replies of scripts. Success is {answers, items}: in `answers`, one ASCII character (48 + value) per item, and the
 * segment's item count after the call. Otherwise the script has changed nothing, and the status reply is one of these
 * words. Scripts on items have more replies (items/programs.ts).
 */
export type Refusal = 'LOST' | 'REUSED' | 'EXPIRED';

/** Prefix of the fields of meta for a sync's layers. */
export const SYNC = 's:';

/** A layer's counts in meta. Only filters that age have `ring` (../items/aged-cells.ts). */
export type CountName = 'items' | 'nonzero' | 'saturated' | 'ring';

/** The meta field for a layer's count. */
export const countOf = (count: CountName, layer: number): string =>
  layer === 0 ? count : `${count}:${layer}`;

/** Separates the filter's own layers from the sync's in a reply. It cannot be a number of items. */
export const END_OF_STACK = -1;

/**
 * First line of scripts that run even at the server's memory limit, because removing items or entries must still work
 * then. They may add to the following, each of which is bounded:
 *
 * - operation records, by the window's size in bytes;
 * - marks of forgotten items and dropped entries, by the share of the queue at which a sweep begins;
 * - hidden items of a filter that ages, by `maxHidden`;
 * - records and turns of lanes, by the hosts of entries in the queue;
 * - leases and the places to which a release takes entries, by the number of leased entries;
 * - during a sync, noted removals, by `maxSyncForgets`;
 * - during a sync, notes on entries that move, at most one for each entry queued at the opening. An acknowledgement
 *   must not fail because of a sync. So at the limit, the copy fails, the sync is abandoned, and the notes are deleted.
 *   After the copy, only scheduled entries are noted, when they come due.
 */
export const ALLOW_OOM = '#!lua flags=allow-oom';

/**
 * First lines of every script on a segment. KEYS: 1 cells, 2 meta. ARGV: 1 generation, 2 bytes of the segment. If the
 * segment is missing, short or of a different generation, the script returns LOST and creates nothing.
 *
 * @param fields more meta fields to read, as Lua. They are in `kept` after the generation and the number of items
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

/** Meta fields that a mutation reads: start and bytes of the current records, start of the previous ones. */
export const RECORD_FIELDS: readonly string[] = ['since', 'bytes', 'previous'].map(
  (name) => `ARGV[3] .. ':${name}'`,
);

/** Like CHECK_SEGMENT, for a mutation. */
export const CHECK_CHANGE = checkSegment(...RECORD_FIELDS);

/**
 * First lines of a mutation after CHECK_CHANGE. They look up a repeat's record, as `recalled`, before anything changes.
 * KEYS: 3 operations-current, 4 operations-previous. ARGV:
 *
 *   3 origin
 *   4 record field
 *   5 fingerprint
 *   6 window in ms
 *   7 maximum bytes of records in a window
 *   8 for a request with a generated id: when the id was generated, in ms; else ''
 *
 * Answering from a record writes although it changes nothing. The record may not have reached the replicas yet, and
 * from Redis 7.2 on, WAIT covers only its own connection's writes. The HDEL needs no memory, and lets the HSET pass at
 * the server's memory limit.
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

/** Like FIND_RECORD, but also answers a repeat from its record. */
export const RECALL = `${FIND_RECORD}
if recalled then return {recalled, tonumber(kept[2])} end
`;

/**
 * Lua: whether the current records can become the previous ones. This must not happen while the slot is moving to
 * another node: a script that names a missing key, even for a moment, would fail halfway. During a move, both nodes
 * refuse a command on two keys if one is missing.
 */
export const CAN_ROTATE = `(type(redis.pcall('EXISTS', current, current .. ':none')) == 'number')`;

/**
 * Last lines of a mutation. They store `answers` as its record, in the same atomic step as the change. A window that
 * has ended or is full becomes the previous one, and the old previous one is deleted. While the slot is moving, the
 * window continues.
 *
 * @param fields more meta fields to write in the same command, as Lua: a name and a value each
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

/** Lua that adds each local variable to the count of the same name, unless it is zero. */
export function addCounts(...names: readonly string[]): string {
  return names.map((name) => `if ${name} ~= 0 then call('HINCRBY', meta, '${name}', ${name}) end`).join('\n');
}
