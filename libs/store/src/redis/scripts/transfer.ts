import type { Script } from './script.js';
import { HOST_LANES } from './host-lanes.js';
import { LANE_RECORDS } from './lane-records.js';
import { chunkOf, SPLIT } from './lanes.js';
import { ADD, leases, marks } from './queue-moves.js';
import {
  checkQueue,
  EXTENDED,
  forQueues,
  HEAD_BYTES,
  LEASED,
  queueReadKeys,
  SCHEDULED,
} from './queue-state.js';
import { schedule } from './schedule.js';
import { CHECK_SEGMENT, NOW } from './script.js';

/** Ends a script that reads a page. Returns `out` with the server's run id and the removals so far. */
export const ANSWER_PAGE = `
local run = string.match(call('INFO', 'server'), 'run_id:(%x+)')
return {next, run, tonumber(call('HGET', meta, 'removed')), concat(out)}`;

/**
 * `readLog` reads a log's entries, in order, starting at a byte of a chunk, until it has read ARGV[4] entries. `out`
 * gets each entry followed by `name`. Returns the chunk and the byte of the next entry, and whether more chunks follow.
 * Sets `overtaken` if entries in between may have been taken before they were read. Needs marks.
 */
export const READ_LOG = `${SPLIT}
local out, read, overtaken = {}, 0, false
local function readLog(log, number, at, rewrites, name)
  -- A sweep has moved entries in a chunk, maybe in this one, so read it again.
  if rewrites ~= queue.rewrites then at = -1 end
  if number < log.head or number == log.head and at < log.headAt then
    overtaken, number, at = true, log.head, log.headAt
  elseif number > log.next then
    -- The lane was empty in the meantime, and its numbers started over.
    number, at = log.head, log.headAt
  end
  at = math.max(at, 0)
  local more = true
  while more and read < tonumber(ARGV[4]) do
    local chunk = number < log.next and call('HGET', queue.chunks, ${chunkOf('log', 'number')})
    local found = split(chunk or '', at, math.huge)
    local gone = queue.forgotten(found)
    for n = 1, #found do
      if not gone[n] then out[#out + 1] = found[n] .. name end
    end
    read = read + math.max(1, #found)
    more = number < log.next - 1
    if more then
      number, at = number + 1, 0
    elseif chunk then
      -- Stay in this chunk, because other calls may append to it.
      at = #chunk
    else
      number, at = log.next, 0
    end
  end
  return number, at, more
end
`;

/**
 * A log's waiting entries, in order. KEYS: 3 and on, the queue's. ARGV:
 *
 *   3 position of the next entry from the previous reply (its chunk, the byte in it, and the number of rewrites), or ''
 *     for the first entry
 *   4 how many entries to read
 *   5 the log (lanes.ts)
 *
 * The script reads its last chunk to the end, even beyond that number. Returns {"<chunk> <byte> <rewrites> <flag>
 * <end>", and "+" if the queue is ordered; the server's run id, removals so far, entries}.
 *
 *   flag   1 if more follow, plus 2 if entries in between may have been taken before they were read
 *   end    the number of the chunk after the last one
 */
export const exportLogScript: Script = {
  name: 'unseenExportLog',
  numberOfKeys: queueReadKeys(false),
  lua: `${checkQueue(false)}${marks(false)}${READ_LOG}
local log = queue.logs and queue.logs[tonumber(ARGV[5])] or queue
local chunk, place, rewrites = string.match(ARGV[3], '^(%d+) (%d+) (%d+)$')
if not chunk then chunk, place, rewrites = log.head, log.headAt, queue.rewrites end
local number, at, more = readLog(log, tonumber(chunk), tonumber(place), tonumber(rewrites), '')
local flag = (more and 1 or 0) + (overtaken and 2 or 0)
local next = string.format('%.0f %.0f %.0f %d %.0f', number, at, queue.rewrites, flag, log.next)
if queue.ordered then next = next .. '+' end
${ANSWER_PAGE}`,
};

/** The waiting entries in scanned chunks. Entries before a lane's head have left it, so they don't count. */
const CHUNKS_OF_LANES = `${SPLIT}
if kind == 'chunks' then
  local ids = {}
  for n = 1, #found, 2 do ids[#ids + 1] = #found[n] > 0 and sub(found[n], 1, 8) or nil end
  queue.lanesOf(ids)
  for n = 1, #found, 2 do
    local entries = {}
    if #found[n] > 0 then
      local _, log, number = placeOf(found[n])
      entries = split(found[n + 1], number == log.head and log.headAt or 0, math.huge)
    end
    for _, entry in ipairs(entries) do
      out[#out + 1] = entry
      heads[#out] = entry
    end
  end
end`;

/** Appends to each entry the name of its host. */
const NAMES = `
local ids = {}
for n = 1, #out do ids[#ids + 1] = out[n] ~= '' and laneOf(heads[n]) or nil end
queue.lanesOf(ids)
for n = 1, #out do
  if out[n] ~= '' then
    local lane = lanes[laneOf(heads[n])]
    if not lane.stored then error({err = 'UNSEEN the record of a lane is missing'}) end
    out[n] = out[n] .. pack('>I2', #lane.name) .. lane.name
  end
end
`;

/**
 * One step of a scan over the queue's entries that aren't waiting or, in a per-host queue, over all entries. KEYS: 3
 * and on, the queue's. ARGV: 3 'leases', 'delayed', 'dead' or 'chunks', 4 cursor, 5 approximate number of these.
 * Returns {next cursor, the server's run id, removals so far, entries}, with dead letters as stored. Before each
 * delayed entry comes its scheduled time, or 0 (6 bytes). If the queue knows hosts, each entry is followed by the
 * length of its host's name (2 bytes) and the name.
 */
export const exportRestScript = forQueues((hosts) => ({
  name: 'unseenExportRest',
  numberOfKeys: queueReadKeys(hosts),
  lua: `${checkQueue(hosts)}${hosts ? LANE_RECORDS : ''}${marks(hosts)}${leases(false)}
local kind, out, heads, keys = ARGV[3], {}, {}, {}
local places = {leases = queue.leaseKey, dead = queue.letters, delayed = queue.delayed, chunks = queue.chunks}
local isHash = kind == 'leases' or kind == 'chunks'
local scan = call(isHash and 'HSCAN' or 'ZSCAN', places[kind], ARGV[4], 'COUNT', ARGV[5])
local next, found = scan[1], scan[2]
for n = 1, kind == 'chunks' and 0 or #found, 2 do
  local member = found[n]
  if kind == 'leases' then
    if #member == 6 then keys[#keys + 1] = member end
  elseif member ~= '' then
    heads[#heads + 1] = kind == 'delayed' and sub(member, 7) or sub(member, 9 + unpacked('>I2', member, 7))
    out[#heads] = kind == 'dead' and member
      or pack('>I6', math.max(0, found[n + 1] - ${SCHEDULED})) .. heads[#heads]
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
${hosts ? CHUNKS_OF_LANES : ''}
for n in pairs(queue.forgotten(heads)) do out[n] = '' end
${hosts ? NAMES : ''}${ANSWER_PAGE}`,
}));

/**
 * One step of a scan over a segment's hidden items. KEYS: 3 hidden items. ARGV: 3 cursor, 4 approximate number of
 * these. Returns {next cursor, the server's run id, removals so far, items}: for each item its hash and the last epoch
 * in which it is hidden (4 bytes).
 */
export const exportHiddenScript: Script = {
  name: 'unseenExportHidden',
  numberOfKeys: 3,
  lua: `${CHECK_SEGMENT}
if call('ZCARD', KEYS[3]) == 0 then return redis.status_reply('LOST') end
local scan, out = call('ZSCAN', KEYS[3], ARGV[3], 'COUNT', ARGV[4]), {}
local next, found = scan[1], scan[2]
for n = 1, #found, 2 do
  if found[n] ~= '' then out[#out + 1] = found[n] .. struct.pack('>I4', tonumber(found[n + 1])) end
end
${ANSWER_PAGE}`,
};

/**
 * First lines of scripts that fill a segment. The counts come last. Once a segment has them, these scripts are no-ops:
 * a command from a lost connection may arrive when the segment is already in use.
 */
export const UNFILLED = `
if call('HEXISTS', meta, 'filled') == 1 then return 'OK' end
`;

/** Writes cells into a segment that is being created. ARGV: 3 offset in bytes, 4 cells. */
export const importCellsScript: Script = {
  name: 'unseenImportCells',
  numberOfKeys: 2,
  lua: `${CHECK_SEGMENT}${UNFILLED}
call('SETRANGE', cells, ARGV[3], ARGV[4])
return 'OK'`,
};

/** The steps of `importQueueScript` in a per-host queue. */
const IMPORTED_LANES = {
  limit: `
local function answer()
  return queue.hosts > maxHosts and redis.status_reply('HOSTS ' .. queue.hosts) or 'OK'
end
local names, named, letters = {}, {}, {}
`,
  name: `
  local id, length = laneOf(entry), unpacked('>I2', packed, next)
  if not names[id] then named[#named + 1] = id end
  names[id] = sub(packed, next + 2, next + 1 + length)
  if reason > 0 then letters[#letters + 1] = entry end
  next = next + 2 + length`,
  use: `
queue.lanesOf(named)
for n = 1, #named do queue.use(named[n]).name = names[named[n]] end
queue.count(letters, 'dead', 1)`,
};

/**
 * Queues entries in a segment that is being created, in order, once. KEYS: 3 and on, the queue's. ARGV:
 *
 *   3 number of the call, from 0
 *   4 for each entry: its time if it is scheduled, or 0 (6 bytes), the length of its reason (2), the reason and the
 *     entry. An entry with a reason is a dead letter. In a per-host queue, each entry is followed by the length of its
 *     host's name (2) and the name.
 *   5 in a per-host queue: the set's limits
 *
 * Returns 'OK', or "HOSTS <number>" if the queue has too many hosts.
 */
export const importQueueScript = forQueues((hosts) => ({
  name: 'unseenImportQueue',
  numberOfKeys: queueReadKeys(hosts),
  lua: `${checkQueue(hosts)}${UNFILLED}${NOW}${hosts ? `${HOST_LANES}${IMPORTED_LANES.limit}` : ADD}${schedule(hosts)}
if tonumber(call('HGET', meta, 'imports') or 0) ~= tonumber(ARGV[3]) then return ${hosts ? 'answer()' : "'OK'"} end
local packed, at, waiting, dead, birth = ARGV[4], 1, {}, {}, pack('>I6', queue.clock + 1)
while at <= #packed do
  local time, reason = unpacked('>I6I2', packed, at)
  local from = at + 8 + reason
  local next = from + ${HEAD_BYTES} + unpacked('>I4', packed, from + 30)
  local entry = sub(packed, from, from + 3) .. birth .. sub(packed, from + 10, next - 1)
  if byte(entry) > 0 then queue.order() end
  if time > 0 then
    queue.schedule({entry}, time)
  elseif reason == 0 then
    waiting[#waiting + 1] = entry
  else
    local number = queue.dead + #dead / 2 + 1
    dead[#dead + 1], dead[#dead + 2] = string.format('%.0f', number), pack('>I6', number) .. sub(packed, at + 6, from - 1) .. entry
  end${hosts ? IMPORTED_LANES.name : ''}
  at = next
end${hosts ? IMPORTED_LANES.use : ''}
queue.add(waiting)
each('ZADD', queue.letters, dead)
queue.set('clock', queue.clock + 1)
queue.set('dead', queue.dead + #dead / 2)
${hosts ? 'queue.flush()\n' : ''}queue.save()
call('HSET', meta, 'imports', ARGV[3] + 1)
return ${hosts ? 'answer()' : "'OK'"}`,
}));

/**
 * Sets the counts in a segment that is being created, after everything else. ARGV: 3 and on, name and value of each.
 */
export const importCountsScript: Script = {
  name: 'unseenImportCounts',
  numberOfKeys: 2,
  lua: `${CHECK_SEGMENT}${UNFILLED}
for n = 3, #ARGV, 2 do call('HSET', meta, ARGV[n], ARGV[n + 1]) end
call('HSET', meta, 'filled', 1)
return 'OK'`,
};
