import { CYCLE } from '../../age.js';
import { CAME_DUE, COPIED_FIELD, OPENED_FIELD, QUEUE_FIELD } from './queue-state.js';
import { ALLOW_OOM, CAN_ROTATE, checkSegment, NOW, type Script, SYNC } from './script.js';
import { beginChecking } from './unclaimed.js';

/*
 * Scripts that begin and end a sync in a segment. KEYS: 1 cells, 2 meta. ARGV: 1 the segment's current token, 2 bytes
 * of the first key, 3 new token. If the segment already has the new token, the script is a no-op.
 */

const already = `
if redis.call('HGET', KEYS[2], 'generation') == ARGV[3] then return 'OK' end
`;

/** Makes a segment take part in a sync. The sync starts empty there. */
export const openSyncScript: Script = {
  name: 'unseenOpenSync',
  numberOfKeys: 2,
  lua: `${already}${checkSegment(`'${QUEUE_FIELD}'`)}
local clock = string.format('%.0f', struct.unpack('>I6', kept[3]))
call('HSET', meta, '${OPENED_FIELD}', clock, 'generation', ARGV[3], '${SYNC}open', 0, '${SYNC}items', 0, '${SYNC}nonzero', 0, '${SYNC}saturated', 0,
  '${SYNC}kept', 0, '${SYNC}listed', 0, '${SYNC}new', 0)
return 'OK'`,
};

/** Meta fields that only a sync has. */
const OF_SYNC = ['kept', 'listed', 'new', 'full', 'copied', 'clock'];

/** Makes the sync's layers the segment's own. In meta, its counts replace those of the old layers. */
export const commitSyncScript: Script = {
  name: 'unseenCommitSync',
  numberOfKeys: 2,
  lua: `${ALLOW_OOM}${already}${checkSegment()}${NOW}
local all, gone, own = call('HGETALL', meta), {}, {'generation', ARGV[3]}
local ofSync = {${OF_SYNC.map((name) => `['${name}'] = true`).join(', ')}}
for n = 1, #all, 2 do
  local name = all[n]
  if sub(name, 1, ${SYNC.length}) == '${SYNC}' then
    gone[#gone + 1] = name
    name = sub(name, ${SYNC.length + 1})
    if not ofSync[name] then own[#own + 1], own[#own + 2] = name, all[n + 1] end
  elseif name == 'open' or name == 'ring' or string.find(name, '^ring:') or string.find(name, '^items:') or string.find(name, '^nonzero:') or string.find(name, '^saturated:') then
    gone[#gone + 1] = name
  elseif name == '${QUEUE_FIELD}' then
    local numbers = all[n + 1]
    ${beginChecking('numbers').trim()}
    own[#own + 1], own[#own + 2] = name, numbers
  end
end
call('HDEL', meta, unpack(gone))
call('HSET', meta, unpack(own))
return 'OK'`,
};

/** Ends the segment's part in the sync. */
export const abandonSyncScript: Script = {
  name: 'unseenAbandonSync',
  numberOfKeys: 2,
  lua: `${ALLOW_OOM}${already}${checkSegment()}
local all, gone = call('HGETALL', meta), {}
for n = 1, #all, 2 do
  if sub(all[n], 1, ${SYNC.length}) == '${SYNC}' then gone[#gone + 1] = all[n] end
end
call('HDEL', meta, unpack(gone))
call('HSET', meta, 'generation', ARGV[3])
return 'OK'`,
};

/**
 * Ranges of scores for the notes on a segment's queue entries during a sync. `after` is exclusive, and `to` is
 * inclusive.
 */
export const NOTES = {
  /** For the copy of the queue: hashes. In a per-host queue, each is followed by the second word of the host's hash. */
  owed: { after: '0', to: String(CAME_DUE) },
  /** For the commit: births and hashes. */
  cameDue: { after: String(CAME_DUE), to: '+inf' },
} as const;

/**
 * Notes on entries that moved after the sync was opened: see `queue.owe` in queue-state.ts. KEYS: 3 the notes. ARGV: 3
 * score of the last note read so far, 4 score of the last one to read, 5 how many. Returns {score of the last one, the
 * notes}.
 */
export const notesScript: Script = {
  name: 'unseenNotes',
  numberOfKeys: 3,
  lua: `${checkSegment()}
local found = call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[3], ARGV[4], 'WITHSCORES', 'LIMIT', 0, ARGV[5])
local notes = {}
for n = 1, #found, 2 do notes[#notes + 1] = found[n] end
return {found[#found] or ARGV[3], concat(notes)}`,
};

/**
 * Notes that a segment's queue has been copied, with the owed entries up to the score ARGV[3]. From then on, no more
 * are owed. KEYS: 3 the notes. Returns MORE, and changes nothing, if more are owed. Returns ANEW if ARGV[4] is not the
 * id of this server run, because a failover may have lost copied entries.
 */
export const copiedScript: Script = {
  name: 'unseenCopied',
  numberOfKeys: 3,
  lua: `${ALLOW_OOM}${checkSegment(`'${COPIED_FIELD}'`)}
local current = KEYS[3]
local last = call('ZRANGE', current, -1, -1, 'WITHSCORES')[2]
if not last then return redis.status_reply('LOST') end
if kept[3] == '1' then return 'OK' end
if string.match(call('INFO', 'server'), 'run_id:(%x+)') ~= ARGV[4] then return 'ANEW' end
if tonumber(last) > tonumber(ARGV[3]) then return 'MORE' end
call('HSET', meta, '${COPIED_FIELD}', '1')
if ${CAN_ROTATE} then
  call('UNLINK', current)
  call('ZADD', current, 0, '')
end
return 'OK'`,
};

/**
 * A sync's counts in a segment: {kept, listed, new, whether it is full, whether its queue has been kept, open layer of
 * the sync, noted removals, items of each own layer, items of each layer of the sync}. KEYS: 3 the noted removals.
 * ARGV: 3 and 4 maximum numbers of own layers and sync layers, 5 ms of an epoch if the filter ages, else 0. If it ages,
 * the reply has live cells instead of items, because meta has the items as of the last change.
 */
export const describeSyncScript: Script = {
  name: 'unseenDescribeSync',
  numberOfKeys: 3,
  lua: `${checkSegment("'epoch'")}${NOW}
local found = call('HMGET', meta, ${['kept', 'listed', 'new', 'full', 'copied', 'open'].map((name) => `'${SYNC}${name}'`).join(', ')})
local stats, epochMs, keptEpoch = {}, tonumber(ARGV[5]), tonumber(kept[3] or 0)
for n = 1, 6 do stats[n] = tonumber(found[n] or 0) end
stats[7] = math.max(0, call('HLEN', KEYS[3]) - 1)
local epoch = epochMs > 0 and math.max(keptEpoch, math.floor(now / epochMs)) or 0
local function liveIn(ring)
  local live = 0
  for left = 0, keptEpoch + ${CYCLE - 1} - epoch do
    if ring ~= '' then live = live + struct.unpack('>I4', ring, (epoch + left) % ${CYCLE} * 4 + 1) end
  end
  return live
end
for n, prefix in ipairs({'', '${SYNC}'}) do
  local names, count = {}, epochMs > 0 and 'ring' or 'items'
  for layer = 1, tonumber(ARGV[2 + n]) do
    names[layer] = prefix .. count .. (layer == 1 and '' or ':' .. layer - 1)
  end
  local counts = call('HMGET', meta, unpack(names))
  for layer = 1, #names do
    stats[#stats + 1] = epochMs > 0 and liveIn(counts[layer] or '') or tonumber(counts[layer] or 0)
  end
end
return stats`,
};
