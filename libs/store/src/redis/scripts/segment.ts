import type { Script } from './script.js';
import { ALLOW_OOM, CHECK_SEGMENT, RECALL, RECORD } from './script.js';

/**
 * Makes the cells of a segment, unless they exist: a command that a lost connection left behind may arrive when they
 * are in use. KEYS: 1 cells. ARGV: 1 index of the last byte.
 */
export const createCellsScript: Script = {
  name: 'unseenCreateCells',
  numberOfKeys: 1,
  lua: `
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SETRANGE', KEYS[1], ARGV[1], '\\0') end
return 'OK'`,
};

/** Makes the meta key of a segment, unless it exists, for the same reason. KEYS: 1 meta. ARGV: 1 generation. */
export const createMetaScript: Script = {
  name: 'unseenCreateMeta',
  numberOfKeys: 1,
  lua: `
if redis.call('EXISTS', KEYS[1]) == 1 then return 'OK' end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'items', 0, 'nonzero', 0, 'saturated', 0, 'added', 0, 'duplicate', 0,
  'removed', 0, 'refused', 0, 'leases', 0, 'created', now, 'caller:since', now, 'caller:previous', now, 'caller:bytes', 0,
  'made:since', now, 'made:previous', now, 'made:bytes', 0)
return 'OK'`,
};

/**
 * Records the start of an operation on several segments in the filter's first segment, before any of them changes. See
 * RECALL.
 */
export const beginScript: Script = {
  name: 'unseenBegin',
  numberOfKeys: 4,
  lua: `${ALLOW_OOM}${CHECK_SEGMENT}${RECALL}
local answers = ''
${RECORD}
return {answers, tonumber(kept[2])}`,
};

/** Answers an operation from its record, or with the status reply NONE. See RECALL. */
export const recallScript: Script = {
  name: 'unseenRecall',
  numberOfKeys: 4,
  lua: `${CHECK_SEGMENT}${RECALL}
return redis.status_reply('NONE')`,
};

/**
 * The counts of a segment, as a flat list. For each record window it says since when there are records, or 0 if none
 * has been forgotten. KEYS: 3 queue-order, for visited sets.
 */
export const describeScript: Script = {
  name: 'unseenDescribe',
  numberOfKeys: 0,
  lua: `${CHECK_SEGMENT}
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local counts = call('HMGET', meta, 'items', 'nonzero', 'saturated', 'added', 'duplicate', 'removed', 'refused',
  'caller:previous', 'made:previous', 'created')
local created = tonumber(table.remove(counts))
local stats = {now}
for n = 1, #counts do stats[n + 1] = tonumber(counts[n]) end
for n = #stats - 1, #stats do if stats[n] <= created then stats[n] = 0 end end
if KEYS[3] then
  if not call('ZSCORE', KEYS[3], '') then return redis.status_reply('LOST') end
  stats[#stats + 1] = call('ZCOUNT', KEYS[3], '-inf', now)
  stats[#stats + 1] = call('ZCARD', KEYS[3]) - 1
end
return stats`,
};
