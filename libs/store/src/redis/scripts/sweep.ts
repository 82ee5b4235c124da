import { LANES_PER_SCRIPT } from './host-lanes.js';
import { chunkOf, SWEEP } from './lanes.js';
import { flushed, hostLanes, leases, marks, TIDY } from './queue-moves.js';
import {
  CHECK_QUEUE_CHANGE,
  forQueues,
  LEASE_ENTRIES,
  openChanged,
  queueChangeKeys,
  SCHEDULED,
} from './queue-state.js';
import { ALLOW_OOM, CAN_ROTATE, NOW } from './script.js';
import { TAKE_TURN, END_TURN } from './sweep-turn.js';

/** How many chunks to read at a time. */
const CHUNKS_SCANNED = 10;

/** Lua: whether the queue has enough marks to start a sweep. `max` is also Lua. */
export const tooManyMarks = (max: string) =>
  `queue.marked > math.max(tonumber(${max}), (queue.waiting + queue.leased + queue.later + queue.letterCount) / 8)`;

/**
 * One step of a sweep, which removes forgotten entries everywhere so that their marks can be deleted. When a sweep
 * begins, the marks become the old marks. Every move of an entry checks its marks, so the sweep visits each place once.
 *
 * It starts with the waiting entries, in each log from the head to the chunk that was last when the sweep began, and
 * rewrites chunks with forgotten entries. Leases, delayed entries and dead letters follow. In a per-host queue, it
 * scans the chunks of all lanes. It deletes chunks before the heads of their logs, because the entries there were
 * dropped. A scan cursor is valid only in the server run that gave it.
 *
 * KEYS: as in scripts that change the queue. ARGV: 3 'made', 4 marks without a sweep, 5 entries to read, 6 and 7 see
 * sweep-turn.ts. Returns '1' if more steps are needed, else '0', or see sweep-turn.ts.
 */
export const sweepScript = forQueues((hosts) => ({
  name: 'unseenSweep',
  numberOfKeys: queueChangeKeys(hosts),
  lua: `${ALLOW_OOM}${CHECK_QUEUE_CHANGE}${NOW}${openChanged(hosts)}${hostLanes(hosts)}${marks(hosts)}${SWEEP}${leases(hosts)}
local current, left = KEYS[3], tonumber(ARGV[5])
local done = {'0', tonumber(kept[2])}
${TAKE_TURN}
if queue.sweeping == 0 then
  if not (turn or ${tooManyMarks('ARGV[4]')}) or not ${CAN_ROTATE} then return done end
  call('RENAME', queue.marks, queue.oldMarks)
  call('HSET', queue.marks, '', '')
  queue.set('sweeping', 1)${hosts ? "\n  queue.set('sweepingDrop', queue.dropped)" : ''}
  call('HSET', meta, 'swept', ${hosts ? `'chunks 0 -'` : `string.format('chunks %.0f %.0f', queue.head, queue.next)`})
end
-- If place is 'chunks', run is the number of the chunk at which the sweep ends.
local place, cursor, run = string.match(call('HGET', meta, 'swept') or '', '^(%a+) (%d+) (.*)$')
if not place then return redis.status_reply('LOST') end
local following = {chunks = 'leases', leases = 'delayed', delayed = 'dead'}
local logs = {chunks = queue}
if queue.logs then
  following.chunks, following.high, following.low = 'high', 'low', 'leases'
  logs.high, logs.low = queue.logs[1], queue.logs[2]
end
local server
local function scan(command, key, most)
  server = server or string.match(call('INFO', 'server'), 'run_id:(%x+)')
  if run ~= server then cursor, run = '0', server end
  local found = call(command, key, cursor, 'COUNT', math.ceil(most))
  cursor = found[1]
  return found[2]
end
local function sweep(key, headAt${hosts ? ', state' : ''})
  local found, members, heads, gone, scores, scheduledGone = scan('ZSCAN', key, left), {}, {}, {}, {}, 0
  for n = 1, #found, 2 do
    if found[n] ~= '' then
      members[#members + 1] = found[n]
      heads[#heads + 1], scores[#heads + 1] = sub(found[n], headAt(found[n])), tonumber(found[n + 1])
    end
  end
  for n in pairs(queue.forgotten(heads)) do
    gone[#gone + 1] = members[n]
    local isScheduled = scores[n] >= ${SCHEDULED}
    if isScheduled then scheduledGone = scheduledGone + 1 end
    ${hosts ? `queue.count({heads[n]}, isScheduled and 'scheduled' or state, -1)` : ''}
  end
  each('ZREM', key, gone)
  if scheduledGone > 0 then queue.set('scheduled', queue.scheduled - scheduledGone) end
  return #members
end
while place and left > 0${hosts ? ` and queue.changes() < ${LANES_PER_SCRIPT}` : ''} do
  local read = 0
  if logs[place] then${
    hosts
      ? `
    local found, ids = scan('HSCAN', queue.chunks, ${CHUNKS_SCANNED}), {}
    for n = 1, #found, 2 do ids[#ids + 1] = #found[n] > 0 and sub(found[n], 1, 8) or nil end
    queue.lanesOf(ids)
    local chunks, dropped = {}, {}
    for n = 1, #found, 2 do
      if #found[n] > 0 then
        local lane, log, number = placeOf(found[n])
        if number < log.head then dropped[#dropped + 1] = found[n]
        else chunks[#chunks + 1] = {lane, log, number, found[n + 1]} end
      end
    end
    each('HDEL', queue.chunks, dropped)
    read = queue.sweepChunks(chunks)
    for n = 1, #chunks do
      local lane = chunks[n][1]
      if lane.changed then queue.use(lane.id) end
    end
    if cursor == '0' then place = following[place] end`
      : `
    local log = logs[place]
    local number = math.max(tonumber(cursor), log.head)
    if number < tonumber(run) then
      local chunk = call('HGET', queue.chunks, ${chunkOf('log', 'number')}) or ''
      read = queue.sweepChunks({{queue, log, number, chunk}})
      number = number + 1
    end
    cursor = string.format('%.0f', number)
    if number >= tonumber(run) then place, cursor, run = following[place], '0', '-' end
    if run == '-' and logs[place] then run = string.format('%.0f', logs[place].next) end`
  }
  else
    if place == 'leases' then
      local found, keys = scan('HSCAN', queue.leaseKey, left / ${LEASE_ENTRIES}), {}
      for n = 1, #found, 2 do
        if #found[n] == 6 then keys[#keys + 1] = found[n] end
      end
      local opened = queue.open(keys)
      for _, lease in pairs(opened) do
        queue.forget(lease)
        read = read + #lease.states
      end
      queue.close(opened)
    elseif place == 'delayed' then
      read = sweep(queue.delayed, function() return 7 end${hosts ? `, 'delayed'` : ''})
    else
      read = sweep(queue.letters, function(letter) return 9 + unpacked('>I2', letter, 7) end${hosts ? `, 'dead'` : ''})
    end
    if cursor == '0' then place = following[place] end
  end
  left = left - math.max(1, read)
end
${flushed(hosts)}
if not place and ${CAN_ROTATE} then
  call('UNLINK', queue.oldMarks)
  call('HSET', queue.oldMarks, '', '')
  queue.set('sweeping', 0)${hosts ? "\n  queue.set('sweptDrop', queue.sweepingDrop)" : ''}
  queue.set('marked', call('HLEN', queue.marks) - 1)
  call('HSET', meta, 'swept', '')
  ${TIDY}
else
  call('HSET', meta, 'swept', (place or 'dead') .. ' ' .. cursor .. ' ' .. run)
  done[1] = place and '1' or '0'
end
${END_TURN}
queue.save()
return done`,
}));
