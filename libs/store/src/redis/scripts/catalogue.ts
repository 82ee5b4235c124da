import { CAN_ROTATE, type Script } from './script.js';

/*
 * The first line of these scripts lets them run when the server is at its memory limit: a drop has to be possible then.
 */

/** Makes a hash that is never empty. KEYS: 1 the hash. */
export const makeHashScript: Script = {
  name: 'unseenMakeHash',
  numberOfKeys: 1,
  lua: `#!lua flags=allow-oom
return redis.call('HSETNX', KEYS[1], '', '')`,
};

/** Makes a sorted set of names that is never empty. KEYS: 1 the sorted set. */
export const makeNamesScript: Script = {
  name: 'unseenMakeNames',
  numberOfKeys: 1,
  lua: `#!lua flags=allow-oom
return redis.call('ZADD', KEYS[1], 'NX', 0, '')`,
};

/** Writes, and changes nothing: WAIT may only wait for what its connection has written. KEYS: 1 filters. */
export const touchCatalogueScript: Script = {
  name: 'unseenTouchCatalogue',
  numberOfKeys: 1,
  lua: `#!lua flags=allow-oom
return redis.call('HSET', KEYS[1], '', '')`,
};

/**
 * Compares and sets a catalogue entry, and keeps the operation's record in the same step.
 * KEYS: 1 filters, 2 names of the kind, 3 operations-current, 4 operations-previous.
 * ARGV: 1 name, 2 the entry as it was read ('' for none), 3 the entry to set ('' to delete), 4 '1' if the name is
 * to be listed, 5 record field ('' for no record), 6 record, 7 window in ms, 8 bytes of records a window may hold.
 * The empty field of current and previous says since when, in ms, and how many bytes of, records are there.
 * Returns 1 if set, 0 if the entry is another by now.
 */
export const catalogueSetScript: Script = {
  name: 'unseenCatalogueSet',
  numberOfKeys: 4,
  lua: `#!lua flags=allow-oom
local filters, names, current, previous = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local call = redis.call
if (call('HGET', filters, ARGV[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[3] == '' then call('HDEL', filters, ARGV[1]) else call('HSET', filters, ARGV[1], ARGV[3]) end
if ARGV[4] == '1' then call('ZADD', names, 0, ARGV[1]) else call('ZREM', names, ARGV[1]) end
if ARGV[5] ~= '' then
  local time = call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
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
