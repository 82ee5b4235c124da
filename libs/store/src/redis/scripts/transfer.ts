import type { Script } from './script.js';
import { CHECK_SEGMENT, WAITING } from './script.js';

const CHECK_QUEUE = `
local entries, order = KEYS[3], KEYS[4]
if call('HEXISTS', entries, '') == 0 or not call('ZSCORE', order, '') then return redis.status_reply('LOST') end
`;

/**
 * A step of a scan over a segment's queue. KEYS: 3 queue-entries, 4 queue-order. ARGV: 3 cursor, 4 about how many.
 * Answers {next cursor, id of the server's run, removals so far, entries}, of these each as
 * "<visible at> <attempt> <bytes of payload> ", hash, payload.
 */
export const exportQueueScript: Script = {
  name: 'unseenExportQueue',
  numberOfKeys: 4,
  lua: `${CHECK_SEGMENT}${CHECK_QUEUE}
local scan = call('HSCAN', entries, ARGV[3], 'COUNT', ARGV[4])
local found, out = scan[2], {}
for n = 1, #found, 2 do
  local id = found[n]
  if id ~= '' then
    local at = call('ZSCORE', order, id)
    if not at then return redis.error_reply('UNSEEN the order of a queued entry is missing') end
    if tonumber(at) < 0 then at = string.format('%.3f', at + ${WAITING}) end
    local attempt, payload = string.match(found[n + 1], '^%d+ (%d+) (.*)$')
    out[#out + 1] = at .. ' ' .. attempt .. ' ' .. #payload .. ' ' .. id .. payload
  end
end
local run = string.match(call('INFO', 'server'), 'run_id:(%x+)')
return {scan[1], run, tonumber(call('HGET', meta, 'removed')), concat(out)}`,
};

/**
 * First lines of the scripts that fill a segment. The counts come last; once a segment has them, these scripts write
 * nothing more. A command that a lost connection left behind may arrive when the segment is in use.
 */
const CHECK_UNFILLED = `${CHECK_SEGMENT}
if call('HEXISTS', meta, 'filled') == 1 then return 'OK' end
`;

/** Writes cells of a segment that is being made. ARGV: 3 offset in bytes, 4 cells. */
export const importCellsScript: Script = {
  name: 'unseenImportCells',
  numberOfKeys: 2,
  lua: `${CHECK_UNFILLED}
call('SETRANGE', cells, ARGV[3], ARGV[4])
return 'OK'`,
};

/**
 * Queues items of a segment that is being made, unless they are in the queue, visible now. KEYS: 3 queue-entries,
 * 4 queue-order. ARGV: 3 per entry "<score> <attempt> <bytes of payload> ", hash, payload.
 */
export const importQueueScript: Script = {
  name: 'unseenImportQueue',
  numberOfKeys: 4,
  lua: `${CHECK_UNFILLED}${CHECK_QUEUE}
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local packed, at = ARGV[3], 1
while at <= #packed do
  local score, attempt, length, from = string.match(packed, '^(%S+) (%d+) (%d+) ()', at)
  local id = sub(packed, from, from + 15)
  at = from + 16 + length
  if call('HSETNX', entries, id, '0 ' .. attempt .. ' ' .. sub(packed, from + 16, at - 1)) == 1 then
    call('ZADD', order, string.format('%.3f', math.min(tonumber(score), now) - ${WAITING}), id)
  end
end
return 'OK'`,
};

/** Sets the counts of a segment that is being made, after everything else. ARGV: from 3 on, name and value of each. */
export const importCountsScript: Script = {
  name: 'unseenImportCounts',
  numberOfKeys: 2,
  lua: `${CHECK_UNFILLED}
for n = 3, #ARGV, 2 do call('HSET', meta, ARGV[n], ARGV[n + 1]) end
call('HSET', meta, 'filled', 1)
return 'OK'`,
};
