import type { Script } from './script.js';

/**
 * Compares and sets a catalogue entry, and keeps the operation's record in the same step.
 * KEYS: 1 filters, 2 names of the kind, 3 operations-current, 4 operations-previous.
 * ARGV: 1 name, 2 the entry as it was read ('' for none), 3 the entry to set ('' to delete), 4 '1' if the name is
 * to be listed, 5 record field ('' for no record), 6 record, 7 window in ms.
 * Returns 1 if set, 0 if the entry is another by now.
 */
export const catalogueSetScript: Script = {
  name: 'unseenCatalogueSet',
  numberOfKeys: 4,
  // The first line lets it run when the server is at its memory limit: a drop has to be possible then.
  lua: `#!lua flags=allow-oom
local filters, names, current, previous = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local call = redis.call
-- Never empty, so that no key is missing while the slot moves to another node.
for n = 1, 4 do
  if n == 2 then call('ZADD', names, 'NX', 0, '') else call('HSETNX', KEYS[n], '', '') end
end
if (call('HGET', filters, ARGV[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[3] == '' then call('HDEL', filters, ARGV[1]) else call('HSET', filters, ARGV[1], ARGV[3]) end
if ARGV[4] == '1' then call('ZADD', names, 0, ARGV[1]) else call('ZREM', names, ARGV[1]) end
if ARGV[5] ~= '' then
  local time = call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local since = tonumber(call('HGET', current, '')) or now
  if now - since >= tonumber(ARGV[7]) then
    call('UNLINK', previous)
    call('RENAME', current, previous)
    since = now
  end
  call('HSET', current, '', string.format('%.0f', since), ARGV[5], ARGV[6])
end
return 1`,
};
