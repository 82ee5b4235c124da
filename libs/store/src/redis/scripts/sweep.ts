import { chunkOf, SWEEP } from './lanes.js';
import { LEASES, MARKS, TIDY } from './queue-moves.js';
import { CHECK_QUEUE_CHANGE, LEASE_ENTRIES, OPEN_QUEUE, QUEUE_CHANGE_KEYS } from './queue-state.js';
import { ALLOW_OOM, CAN_ROTATE, NOW, type Script } from './script.js';
import { TAKE_TURN, END_TURN } from './sweep-turn.js';

/** Lua: whether the queue has enough marks for a sweep to begin. `max` is Lua, too. */
export const tooManyMarks = (max: string) =>
  `queue.marked > math.max(tonumber(${max}), (queue.waiting + queue.leased + queue.later + queue.letterCount) / 8)`;

/**
 * A step of a sweep, which removes forgotten entries everywhere so that their marks can be deleted. When it begins, the
 * marks become the old marks. Every move of an entry checks its marks, so the sweep visits each place once. First come
 * the waiting entries, from the head to the chunk that was the last one at the beginning; the sweep rewrites chunks
 * with forgotten entries. Leases, delayed entries and dead letters follow. A cursor of a scan is valid only in the run
 * of the server that gave it.
 *
 * KEYS: as in scripts that change the queue. ARGV: 3 'made', 4 marks up to which no sweep begins, 5 entries to read, 6
 * and 7 see sweep-turn.ts.
 * Returns '1' if more steps are needed, else '0', or see sweep-turn.ts.
 */
export const sweepScript: Script = {
  name: 'unseenSweep',
  numberOfKeys: QUEUE_CHANGE_KEYS,
  lua: `${ALLOW_OOM}${CHECK_QUEUE_CHANGE}${OPEN_QUEUE}${NOW}${MARKS}${SWEEP}${LEASES}
local current, left = KEYS[3], tonumber(ARGV[5])
local done = {'0', tonumber(kept[2])}
${TAKE_TURN}
if queue.sweeping == 0 then
  if not (turn or ${tooManyMarks('ARGV[4]')}) or not ${CAN_ROTATE} then return done end
  call('RENAME', queue.marks, queue.oldMarks)
  call('HSET', queue.marks, '', '')
  queue.set('sweeping', 1)
  call('HSET', meta, 'swept', string.format('chunks %.0f %.0f', queue.head, queue.next))
end
-- While it sweeps chunks, run is their end.
local place, cursor, run = string.match(call('HGET', meta, 'swept') or '', '^(%a+) (%d+) (.*)$')
if not place then return redis.status_reply('LOST') end
local following = {chunks = 'leases', leases = 'delayed', delayed = 'dead'}
local function scan(command, key, most)
  local now = string.match(call('INFO', 'server'), 'run_id:(%x+)')
  if run ~= now then cursor, run = '0', now end
  local found = call(command, key, cursor, 'COUNT', math.ceil(most))
  cursor = found[1]
  return found[2]
end
local function sweep(key, headAt)
  local found, members, heads, gone = scan('ZSCAN', key, left), {}, {}, {}
  for n = 1, #found, 2 do
    if found[n] ~= '' then
      members[#members + 1] = found[n]
      heads[#heads + 1] = sub(found[n], headAt(found[n]))
    end
  end
  for n in pairs(queue.forgotten(heads)) do gone[#gone + 1] = members[n] end
  each('ZREM', key, gone)
  return #members
end
while place and left > 0 do
  local read = 0
  if place == 'chunks' then
    local number = math.max(tonumber(cursor), queue.head)
    if number < tonumber(run) then
      read = queue.sweepChunk(queue, number, call('HGET', queue.chunks, ${chunkOf('queue', 'number')}) or '')
      number = number + 1
    end
    cursor = string.format('%.0f', number)
    if number >= tonumber(run) then place, cursor, run = following[place], '0', '-' end
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
      read = sweep(queue.delayed, function() return 7 end)
    else
      read = sweep(queue.letters, function(letter) return 9 + unpacked('>I2', letter, 7) end)
    end
    if cursor == '0' then place = following[place] end
  end
  left = left - math.max(1, read)
end
if not place and ${CAN_ROTATE} then
  call('UNLINK', queue.oldMarks)
  call('HSET', queue.oldMarks, '', '')
  queue.set('sweeping', 0)
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
};
