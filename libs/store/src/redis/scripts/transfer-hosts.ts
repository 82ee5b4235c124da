import { MAX_LEASE_MS } from '../../port/index.js';
import { COUNT_DUE } from './due.js';
import { HOST_LANES } from './host-lanes.js';
import { LANE_RECORDS, setSettings, SETTINGS_BYTES } from './lane-records.js';
import { leases, marks } from './queue-moves.js';
import { checkQueue, queueReadKeys } from './queue-state.js';
import { type Script, NOW } from './script.js';
import { ANSWER_PAGE, READ_LOG, UNFILLED } from './transfer.js';

/* Scripts that export and import the lanes of a per-host queue. */

/**
 * Lane records. KEYS: 3 and on, the queue's. ARGV:
 *
 *   3 'turns' for the lanes with turns, in their order, 'lanes' for a scan step over all lanes, or 'lane' for one
 *   4 cursor, '0' at first, or that lane's id
 *   5 about how many to read
 *
 * Returns {next cursor, '0' at the end; the server's run id; removals so far; records}. The records begin with the
 * clock, how far the queue's time is ahead of it, and the last turn (6 bytes each). Each lane has its id (8), the
 * length of its record (2), and the record. The cursor for turns is the last time and turn, so it is valid in every
 * run.
 */
export const exportLanesScript = lanesScript('unseenExportLanes');

/** Like exportLanesScript, but the lanes count due entries as the next lease will. ARGV: 6 the set's limits. */
export const listLanesScript = lanesScript(
  'unseenListLanes',
  `${HOST_LANES}${leases(false)}${COUNT_DUE}`,
  `
local ids = {}
for n = 1, #found, 2 do ids[#ids + 1] = found[n] end
local changed = queue.countDue(ids)
for n = 1, #found, 2 do
  local lane = changed[found[n]]
  if lane then found[n + 1] = recordOf(lane) end
end`,
);

function lanesScript(name: string, functions = '', recount = ''): Script {
  return {
    name,
    numberOfKeys: queueReadKeys(true),
    lua: `${checkQueue(true)}${NOW}${functions}
local aheadMs = queue.aheadMs + math.max(0, queue.seenAt - now)
local next, count, found = '0', tonumber(ARGV[5]), {}
local out = {pack('>I6I6I6', now, aheadMs, queue.turn)}
if ARGV[3] == 'turns' then
  local from, past = 0, call('ZCARD', queue.turns)
  local lastAt, lastTurn = string.match(ARGV[4], '^(%d+) (%d+)$')
  lastAt, lastTurn = tonumber(lastAt or -1), tonumber(lastTurn or 0)
  while from < past do
    local middle = math.floor((from + past) / 2)
    local turn = call('ZRANGE', queue.turns, middle, middle, 'WITHSCORES')
    local at = turn[1] == '' and -1 or tonumber(turn[2])
    if at < lastAt or at == lastAt and (turn[1] == '' or unpacked('>I6', turn[1]) <= lastTurn) then from = middle + 1
    else past = middle end
  end
  local turns, ids = call('ZRANGE', queue.turns, from, from + count - 1, 'WITHSCORES'), {}
  for n = 1, #turns, 2 do ids[#ids + 1] = sub(turns[n], 7) end
  local records = #ids > 0 and call('HMGET', queue.laneKey, unpack(ids)) or {}
  for n = 1, #ids do
    if not records[n] then error({err = 'UNSEEN the record of a lane is missing'}) end
    found[2 * n - 1], found[2 * n] = ids[n], records[n]
  end
  if #ids == count then next = string.format('%.0f %.0f', turns[#turns], unpacked('>I6', turns[#turns - 1])) end
elseif ARGV[3] == 'lane' then
  local record = call('HGET', queue.laneKey, ARGV[4])
  if record then found = {ARGV[4], record} end
else
  local scan = call('HSCAN', queue.laneKey, ARGV[4], 'COUNT', count)
  next, found = scan[1], scan[2]
end${recount}
for n = 1, #found, 2 do
  if found[n] ~= '' then out[#out + 1] = found[n] .. pack('>I2', #found[n + 1]) .. found[n + 1] end
end
${ANSWER_PAGE}`,
  };
}

/**
 * Waiting entries from the logs of lanes, in log order. KEYS: 3 and on, the queue's. ARGV:
 *
 *   3 for each log: its lane's id (8 bytes), its number (1; lanes.ts), and the position of the next entry: its chunk,
 *     the byte in it, and the number of rewrites (6 bytes each), all 0 for the first entry
 *   4 how many entries to read
 *
 * The script reads its last chunk to the end, even beyond that number. Returns {"<flag> <rewrites>" and for each log "
 * <chunk> <byte> <1 if more follow, else 0>", the server's run id, removals so far, entries with their hosts' names}.
 * Flag: see exportLogScript, without the 1.
 */
export const exportWaitingScript: Script = {
  name: 'unseenExportWaiting',
  numberOfKeys: queueReadKeys(true),
  lua: `${checkQueue(true)}${LANE_RECORDS}${marks(true)}${READ_LOG}
local packed, ids, places = ARGV[3], {}, {}
for from = 1, #packed, 27 do ids[#ids + 1] = sub(packed, from, from + 7) end
queue.lanesOf(ids)
for n = 1, #ids do
  local lane = lanes[ids[n]]
  local log = logOf(lane, byte(packed, 27 * n - 18))
  local chunk, place, rewrites = unpacked('>I6I6I6', packed, 27 * n - 17)
  local number, at, more = readLog(log, chunk, place, rewrites, pack('>I2', #lane.name) .. lane.name)
  places[n] = string.format(' %.0f %.0f %d', number, at, more and 1 or 0)
end
local next = string.format('%d %.0f', overtaken and 2 or 0, queue.rewrites) .. concat(places)
${ANSWER_PAGE}`,
};

/**
 * Imports lanes into a segment that is being created, after their entries. Safe to repeat. KEYS: 3 and on, the queue's.
 * ARGV:
 *
 *   3 for each lane: its id (8 bytes), when the next entry may be leased, the discoveries that count, and until when,
 *     its settings (6 bytes each), the length of the host's name (2), and the name
 *   4 the set's limits
 *
 * Returns 'OK', or "HOSTS <number>" if the queue has too many hosts.
 */
export const importHostsScript: Script = {
  name: 'unseenImportHosts',
  numberOfKeys: queueReadKeys(true),
  lua: `${checkQueue(true)}${UNFILLED}${NOW}${HOST_LANES}
local packed, from = ARGV[3], 1
while from <= #packed do
  local id = sub(packed, from, from + 7)
  local readyAt, found, foundUntil = unpacked('>I6I6I6', packed, from + 8)
  local length = unpacked('>I2', packed, from + ${26 + SETTINGS_BYTES})
  queue.lanesOf({id})
  local lane = queue.use(id)
  lane.name = sub(packed, from + ${28 + SETTINGS_BYTES}, from + ${27 + SETTINGS_BYTES} + length)
  ${setSettings('packed', 'from + 26')}
  -- No host waits longer than the maximum delay.
  lane.readyAt = math.max(1, math.min(readyAt, now + ${MAX_LEASE_MS}) + queue.aheadMs)
  setInGroup(lane, 'found', (foundUntil == 0 or foundUntil > now) and maxUrls > 0 and found or 0)
  lane.period = period
  lane.served, lane.dueSince = true, lane.readyAt
  from = from + ${28 + SETTINGS_BYTES} + length
end
queue.flush()
queue.save()
return queue.hosts > maxHosts and redis.status_reply('HOSTS ' .. queue.hosts) or 'OK'`,
};
