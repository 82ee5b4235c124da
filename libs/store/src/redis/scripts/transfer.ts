import type { Script } from './script.js';
import { LEASES, MARKS } from './queue-moves.js';
import { CHECK_QUEUE, EXTENDED, HEAD_BYTES, LEASED } from './queue-state.js';
import { CHECK_SEGMENT } from './script.js';

/**
 * Ends a script that reads a page of a queue: returns `out` with the id of the server's run and the removals so far.
 */
const ANSWER_PAGE = `
local run = string.match(call('INFO', 'server'), 'run_id:(%x+)')
return {next, run, tonumber(call('HGET', meta, 'removed')), concat(out)}`;

/**
 * Waiting entries, in order.
 * KEYS: 3 and on, the queue's. ARGV: 3 sweeps, list (0 or 1) and position in it of the next entry, from the previous
 * answer, or '' for the first entry; 4 how many.
 * Returns {"<sweeps> <list> <position> <flag> <read> <behind>", id of the server's run, removals so far, entries}.
 * Flag: 1 if more may follow, 2 if entries in between were taken before they were read, the sum of both, or 0. Read:
 * number of entries read, forgotten ones included. Behind: number of waiting entries that follow.
 */
export const exportLogScript: Script = {
  name: 'unseenExportLog',
  numberOfKeys: 10,
  lua: `${CHECK_QUEUE}${MARKS}
local sweeps, list, place = string.match(ARGV[3], '^(%d+) (%d) (%d+)$')
sweeps, list, place = tonumber(sweeps), tonumber(list), tonumber(place)
local flag = 0
if sweeps == queue.sweeps - 1 and list == sweeps % 2 then
  flag = 2
elseif sweeps ~= queue.sweeps then
  list = 1 - queue.tail
  place = queue['start' .. list]
end
local start, asked = queue['start' .. list], tonumber(ARGV[4])
if start > place then flag, place = 2, start end
local found = call('LRANGE', queue.logs[list], place - start + 1, place - start + asked)
local gone, out = queue.forgotten(found), {}
for n = 1, #found do
  if not gone[n] then out[#out + 1] = found[n] end
end
place = place + #found
local behind = math.max(0, call('LLEN', queue.logs[list]) - 1 - (place - start))
if list ~= queue.tail then behind = behind + call('LLEN', queue.logs[queue.tail]) - 1 end
if #found == asked then
  flag = flag + 1
elseif list ~= queue.tail then
  list, place, flag = queue.tail, queue['start' .. queue.tail], flag + 1
end
local next = string.format('%.0f %d %.0f %d %d %.0f', queue.sweeps, list, place, flag, #found, behind)
${ANSWER_PAGE}`,
};

/**
 * A step of a scan over the queue's entries that are not waiting.
 * KEYS: 3 and on, the queue's. ARGV: 3 'leases', 'delayed' or 'dead', 4 cursor, 5 about how many of these.
 * Returns {next cursor, id of the server's run, removals so far, entries}; dead letters as stored.
 */
export const exportRestScript: Script = {
  name: 'unseenExportRest',
  numberOfKeys: 10,
  lua: `${CHECK_QUEUE}${MARKS}${LEASES}
local kind, out, heads, keys = ARGV[3], {}, {}, {}
local scan = call(kind == 'leases' and 'HSCAN' or 'ZSCAN', queue[kind == 'leases' and 'leaseKey' or kind == 'dead' and 'letters' or kind], ARGV[4], 'COUNT', ARGV[5])
local next, found = scan[1], scan[2]
for n = 1, #found, 2 do
  local member = found[n]
  if kind == 'leases' then
    if #member == 6 then keys[#keys + 1] = member end
  elseif member ~= '' then
    out[#out + 1] = kind == 'delayed' and sub(member, 7) or member
    heads[#out] = kind == 'delayed' and out[#out] or sub(member, 9 + unpacked('>I2', member, 7))
  end
end
for _, lease in pairs(queue.open(keys)) do
  for index = 1, #lease.states do
    if lease.states[index] == ${LEASED} or lease.states[index] == ${EXTENDED} then
      out[#out + 1] = queue.returned(lease, index, 1)
      heads[#out] = out[#out]
    end
  end
end
for n in pairs(queue.forgotten(heads)) do out[n] = '' end
${ANSWER_PAGE}`,
};

/**
 * First lines of scripts that fill a segment. The counts come last; once a segment has them, these scripts are no-ops,
 * because a command from a lost connection may arrive when the segment is already in use.
 */
const UNFILLED = `
if call('HEXISTS', meta, 'filled') == 1 then return 'OK' end
`;

/** Writes cells of a segment that is being created. ARGV: 3 offset in bytes, 4 cells. */
export const importCellsScript: Script = {
  name: 'unseenImportCells',
  numberOfKeys: 2,
  lua: `${CHECK_SEGMENT}${UNFILLED}
call('SETRANGE', cells, ARGV[3], ARGV[4])
return 'OK'`,
};

/**
 * Queues entries of a segment that is being created, in order, once.
 * KEYS: 3 and on, the queue's. ARGV: 3 number of the call, from 0, 4 for each entry the length of its reason (2 bytes),
 * the reason and the entry. An entry with a reason is a dead letter.
 */
export const importQueueScript: Script = {
  name: 'unseenImportQueue',
  numberOfKeys: 10,
  lua: `${CHECK_QUEUE}${UNFILLED}
if tonumber(call('HGET', meta, 'imports') or 0) ~= tonumber(ARGV[3]) then return 'OK' end
local packed, at, waiting, dead, birth = ARGV[4], 1, {}, {}, pack('>I6', queue.clock + 1)
while at <= #packed do
  local reason = unpacked('>I2', packed, at)
  local from = at + 2 + reason
  local next = from + ${HEAD_BYTES} + unpacked('>I4', packed, from + 30)
  local entry = sub(packed, from, from + 3) .. birth .. sub(packed, from + 10, next - 1)
  if reason == 0 then
    waiting[#waiting + 1] = entry
  else
    local number = queue.dead + #dead / 2 + 1
    dead[#dead + 1], dead[#dead + 2] = string.format('%.0f', number), pack('>I6', number) .. sub(packed, at, from - 1) .. entry
  end
  at = next
end
each('RPUSH', queue.logs[queue.tail], waiting)
each('ZADD', queue.letters, dead)
queue.set('clock', queue.clock + 1)
queue.set('dead', queue.dead + #dead / 2)
queue.save()
call('HSET', meta, 'imports', ARGV[3] + 1)
return 'OK'`,
};

/**
 * Sets the counts of a segment that is being created, after everything else. ARGV: 3 and on, name and value of each.
 */
export const importCountsScript: Script = {
  name: 'unseenImportCounts',
  numberOfKeys: 2,
  lua: `${CHECK_SEGMENT}${UNFILLED}
for n = 3, #ARGV, 2 do call('HSET', meta, ARGV[n], ARGV[n + 1]) end
call('HSET', meta, 'filled', 1)
return 'OK'`,
};
