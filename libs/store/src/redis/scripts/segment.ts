import { QUEUE_FIELD } from './queue-state.js';
import type { Script } from './script.js';
import { ALLOW_OOM, CHECK_CHANGE, NOW, RECALL, RECORD } from './script.js';

/**
 * Creates a segment's cells. Does nothing if they exist, because a command from a lost connection may arrive when they
 * are already in use. KEYS: 1 cells. ARGV: 1 index of the last byte.
 */
export const createCellsScript: Script = {
  name: 'unseenCreateCells',
  numberOfKeys: 1,
  lua: `
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SETRANGE', KEYS[1], ARGV[1], '\\0') end
return 'OK'`,
};

/**
 * Creates a segment's meta key. Does nothing if it exists, for the same reason. KEYS: 1 meta. ARGV: 1 generation, 2
 * bytes of the queue's numbers.
 */
export const createMetaScript: Script = {
  name: 'unseenCreateMeta',
  numberOfKeys: 1,
  lua: `
if redis.call('EXISTS', KEYS[1]) == 1 then return 'OK' end
${NOW}
local made = string.format('%.0f', now)
redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'items', 0, 'nonzero', 0, 'saturated', 0, 'added', 0, 'duplicate', 0,
  'removed', 0, 'refused', 0, '${QUEUE_FIELD}', string.rep('\\0', ARGV[2]), 'created', made, 'caller:since', made, 'caller:previous', made, 'caller:bytes', 0,
  'made:since', made, 'made:previous', made, 'made:bytes', 0)
return 'OK'`,
};

/** Records an answer that no change to the segment has produced. See RECALL. ARGV: 9 the answer. */
export const recordScript: Script = {
  name: 'unseenRecord',
  numberOfKeys: 4,
  lua: `${ALLOW_OOM}${CHECK_CHANGE}${RECALL}
local answers = ARGV[9]
${RECORD}
return {answers, tonumber(kept[2])}`,
};

/** Answers an operation from its record, or with the status reply NONE. See RECALL. */
export const recallScript: Script = {
  name: 'unseenRecall',
  numberOfKeys: 4,
  lua: `${CHECK_CHANGE}${RECALL}
return redis.status_reply('NONE')`,
};
