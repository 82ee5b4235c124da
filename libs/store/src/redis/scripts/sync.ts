import type { Script } from './script.js';
import { ALLOW_OOM, checkSegment } from './script.js';
import { SYNC } from './synced.js';

/*
 * The scripts that begin and end a sync in a segment. KEYS: 1 cells, 2 meta. ARGV: 1 the token that the segment has, 2 bytes of the
 * first key, 3 the token that it gets. A segment that has that already is left as it is.
 */

const already = `
if redis.call('HGET', KEYS[2], 'generation') == ARGV[3] then return 'OK' end
`;

/** Has a segment take part in a sync, of which it has nothing so far. */
export const openSyncScript: Script = {
  name: 'unseenOpenSync',
  numberOfKeys: 2,
  lua: `${already}${checkSegment()}
call('HSET', meta, 'generation', ARGV[3], '${SYNC}open', 0, '${SYNC}items', 0, '${SYNC}nonzero', 0, '${SYNC}saturated', 0,
  '${SYNC}kept', 0, '${SYNC}listed', 0, '${SYNC}new', 0)
return 'OK'`,
};

/** Fields of meta that a sync has and a list of layers has not. */
const OF_SYNC = ['kept', 'listed', 'new', 'full', 'copied'];

/** The second list becomes the segment's own: what meta has of it takes the place of what it had of the own one. */
export const commitSyncScript: Script = {
  name: 'unseenCommitSync',
  numberOfKeys: 2,
  lua: `${ALLOW_OOM}${already}${checkSegment()}
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
  end
end
call('HDEL', meta, unpack(gone))
call('HSET', meta, unpack(own))
return 'OK'`,
};

/** The segment takes part in the sync no more. */
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

/** Says that a segment's queue has been kept. As the others, but that the token stays: ARGV[3] is none. */
export const copiedScript: Script = {
  name: 'unseenCopied',
  numberOfKeys: 2,
  lua: `${checkSegment()}
call('HSET', meta, '${SYNC}copied', '1')
return 'OK'`,
};

/**
 * What a segment has of a sync: {items of the own layers, kept, listed, new, whether it is full, whether its queue has been kept,
 * open layer of the second list, items of each of its layers}. ARGV: 3 how many layers the own list may have, 4 the second.
 */
export const describeSyncScript: Script = {
  name: 'unseenDescribeSync',
  numberOfKeys: 2,
  lua: `${checkSegment()}
local function items(prefix, layers)
  local names = {prefix .. 'items'}
  for layer = 1, layers - 1 do names[layer + 1] = prefix .. 'items:' .. layer end
  local found = call('HMGET', meta, unpack(names))
  for n = 1, #names do found[n] = tonumber(found[n] or 0) end
  return found
end
local own = 0
for _, one in ipairs(items('', tonumber(ARGV[3]))) do own = own + one end
local found = call('HMGET', meta, ${['kept', 'listed', 'new', 'full', 'copied', 'open'].map((name) => `'${SYNC}${name}'`).join(', ')})
local stats = {own}
for n = 1, 6 do stats[n + 1] = tonumber(found[n] or 0) end
for _, one in ipairs(items('${SYNC}', tonumber(ARGV[4]))) do stats[#stats + 1] = one end
return stats`,
};
