import { STAMP_BYTES } from '#bloom';
import { PREFIX_ENDS } from '../../port/index.js';
import { CAN_ROTATE, NOW, type Script } from './script.js';

/* The first line of these scripts lets them run at the server's memory limit, because drops must still work then. */

/** Value of the usage key's field '' once the usage has been counted. */
export const COUNTED = 'counted';

/** Creates a hash that is never empty. KEYS: 1 the hash. ARGV: 1 the value of its field ''. */
export const makeHashScript: Script = {
  name: 'unseenMakeHash',
  numberOfKeys: 1,
  lua: `#!lua flags=allow-oom
return redis.call('HSETNX', KEYS[1], '', ARGV[1])`,
};

/** Creates a sorted set of names that is never empty. KEYS: 1 the sorted set. */
export const makeNamesScript: Script = {
  name: 'unseenMakeNames',
  numberOfKeys: 1,
  lua: `#!lua flags=allow-oom
return redis.call('ZADD', KEYS[1], 'NX', 0, '')`,
};

/** Changes nothing, but is a write: WAIT covers only the writes of its own connection. KEYS: 1 filters. */
export const touchCatalogueScript: Script = {
  name: 'unseenTouchCatalogue',
  numberOfKeys: 1,
  lua: `#!lua flags=allow-oom
local version = redis.call('HGET', KEYS[1], '')
return version and redis.call('HSET', KEYS[1], '', version)`,
};

/**
 * Usage is stored as "<filters> <bytes>" for every prefix of a name that ends with one of PREFIX_ENDS. So the time for
 * a quota check doesn't depend on the number of filters. The time for a change is proportional to the number of
 * separators in the filter's name. A filter's bytes are those of its layers and its sync's layers, including layers in
 * creation. The field '' says whether the usage has been counted. The Lua variable `usage` is the key.
 */
const USAGE = `
local function bytesOf(entry)
  if entry == '' then return 0 end
  local found = cjson.decode(entry)
  local function bytes(geometry)
    local stamp = geometry.cellBits == 8 and ${STAMP_BYTES} or 0
    return geometry.segments * geometry.pagesPerSegment * (geometry.pageCells * geometry.cellBits / 8 + stamp)
  end
  local function ofStack(plan, made, growing)
    local sum = bytes(plan.geometry)
    for layer = 2, math.max(made or 1, growing or 0) do sum = sum + bytes(plan.layers[layer].geometry) end
    return sum
  end
  local sync = found.sync
  return ofStack(found, found.made, found.growing) + (sync and ofStack(sync.plan, sync.made, sync.growing) or 0)
end
local function usedBy(prefix)
  local filters, bytes = string.match(call('HGET', usage, prefix) or '', '^(%d+) (%d+)$')
  return tonumber(filters) or 0, tonumber(bytes) or 0
end
local function count(name, filters, bytes)
  if filters == 0 and bytes == 0 then return end
  for at in string.gmatch(name, '()[${PREFIX_ENDS}]') do
    local prefix = string.sub(name, 1, at)
    local usedFilters, usedBytes = usedBy(prefix)
    if usedFilters + filters > 0 then
      call('HSET', usage, prefix, string.format('%.0f %.0f', usedFilters + filters, usedBytes + bytes))
    else
      call('HDEL', usage, prefix)
    end
  end
end`;

/**
 * Counts the usage unless it has been counted. One step reads the whole catalogue, which is needed only if the key was
 * lost. KEYS: 1 filters, 2 usage.
 */
export const countUsageScript: Script = {
  name: 'unseenCountUsage',
  numberOfKeys: 2,
  lua: `#!lua flags=allow-oom
local usage, call = KEYS[2], redis.call
${USAGE}
if call('HGET', usage, '') == '${COUNTED}' then return 0 end
local old, entries = call('HGETALL', usage), call('HGETALL', KEYS[1])
for i = 1, #old, 2 do
  if old[i] ~= '' then call('HDEL', usage, old[i]) end
end
for i = 1, #entries, 2 do
  if entries[i] ~= '' then count(entries[i], 1, bytesOf(entries[i + 1])) end
end
return call('HSET', usage, '', '${COUNTED}')`,
};

/**
 * Compares and sets a catalogue entry, updates the usage, and records the operation, in one step. KEYS: 1 filters, 2
 * names of the kind, 3 operations-current, 4 operations-previous, 5 usage, 6 unfinished. ARGV:
 *
 *    1 name
 *    2 the entry as read ('' for none)
 *    3 the new entry ('' to delete)
 *    4 'listed' or 'unfinished' to put the name among those
 *    5 record field ('' for no record)
 *    6 record
 *    7 window in ms
 *    8 maximum bytes of records in a window
 *    9 prefix of a quota ('' for none)
 *   10 the quota's filters ('' for no limit)
 *   11 the quota's bytes ('' for no limit)
 *
 * The field '' of current and previous has the window's start in ms, and the bytes of its records. Returns 1 if set, 0
 * if the entry has changed since it was read, 'UNCOUNTED' if the usage must be counted first, or the current usage
 * {filters, bytes} if the change would exceed the quota.
 */
export const catalogueSetScript: Script = {
  name: 'unseenCatalogueSet',
  numberOfKeys: 6,
  lua: `#!lua flags=allow-oom
local filters, names, current, previous, usage, unfinished = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local call = redis.call
${USAGE}
if (call('HGET', filters, ARGV[1]) or '') ~= ARGV[2] then return 0 end
if call('HGET', usage, '') ~= '${COUNTED}' then return redis.status_reply('UNCOUNTED') end
local more = (ARGV[3] == '' and 0 or 1) - (ARGV[2] == '' and 0 or 1)
local moreBytes = bytesOf(ARGV[3]) - bytesOf(ARGV[2])
if ARGV[9] ~= '' then
  local used, usedBytes = usedBy(ARGV[9])
  local over = more > 0 and used + more > (tonumber(ARGV[10]) or math.huge)
  local overBytes = moreBytes > 0 and usedBytes + moreBytes > (tonumber(ARGV[11]) or math.huge)
  if over or overBytes then return {used, usedBytes} end
end
count(ARGV[1], more, moreBytes)
if ARGV[3] == '' then call('HDEL', filters, ARGV[1]) else call('HSET', filters, ARGV[1], ARGV[3]) end
if ARGV[4] == 'listed' then call('ZADD', names, 0, ARGV[1]) else call('ZREM', names, ARGV[1]) end
if ARGV[4] == 'unfinished' then call('ZADD', unfinished, 0, ARGV[1]) else call('ZREM', unfinished, ARGV[1]) end
if ARGV[5] ~= '' then
  ${NOW}
  local since, bytes = string.match(call('HGET', current, '') or '', '^(%d+) (%d+)$')
  since, bytes = tonumber(since) or now, tonumber(bytes) or 0
  local size = #ARGV[5] + #ARGV[6] + 64
  local over = now - since >= tonumber(ARGV[7]) or bytes > 0 and bytes + size > tonumber(ARGV[8])
  if over and ${CAN_ROTATE} then
    call('UNLINK', previous)
    call('RENAME', current, previous)
    since, bytes = now, 0
  end
  call('HSET', current, '', string.format('%.0f %.0f', since, bytes + size), ARGV[5], ARGV[6])
end
return 1`,
};

/** The server's time, in ms since the epoch. KEYS: 1 any key of the catalogue, to choose the server. */
export const nowScript: Script = {
  name: 'unseenNow',
  numberOfKeys: 1,
  lua: `${NOW}
return string.format('%.0f', now)`,
};
