import { LANE_RECORDS } from './lane-records.js';
import { marks } from './queue-moves.js';
import { CHECK_QUEUE_CHANGE, forQueues, openChanged, queueChangeKeys, recordQueue } from './queue-state.js';
import { ALLOW_OOM, RECALL } from './script.js';
import { tooManyMarks } from './sweep.js';

/**
 * Drops entries: marks their items as forgotten at their births.
 * ARGV: 9 for each entry its birth (6 bytes), the hash of its item (16) and the second word of its host's hash (4), 10
 * marks up to which no sweep begins.
 */
export const dropEntriesScript = forQueues((hosts) => ({
  name: 'unseenDropEntries',
  numberOfKeys: queueChangeKeys(hosts),
  moreKeys: true,
  lua: `${ALLOW_OOM}${CHECK_QUEUE_CHANGE}${RECALL}${openChanged(hosts)}${hosts ? LANE_RECORDS : ''}${marks(hosts)}
local packed, heads, sweep = ARGV[9], {}, 0
for at = 1, #packed, 26 do
  local birth = unpacked('>I6', packed, at)
  -- There is no later entry yet.
  if birth > 0 and birth <= queue.clock then
    heads[#heads + 1] = '\\0\\0\\0\\0' .. sub(packed, at, at + 5) .. '\\0\\0\\0\\0' .. sub(packed, at + 6, at + 21) .. '\\0\\0\\0\\0' .. sub(packed, at + 22, at + 25)
  end
end
if queue.waiting + queue.leased + queue.later + queue.letterCount > 0 then
  local gone, births, live, marks = queue.forgotten(heads), {}, {}, {}
  for n = 1, #heads do
    if not gone[n] then
      local hash = sub(heads[n], 15, 30)
      births[hash] = math.max(births[hash] or 0, (unpacked('>I6', heads[n], 5)))
      live[#live + 1] = heads[n]
    end
  end
  for hash, birth in pairs(births) do
    marks[#marks + 1], marks[#marks + 2] = hash, string.format('%.0f', birth)
  end
  if #marks > 0 then
    queue.owe(live)
    queue.set('marked', queue.marked + call('HSET', queue.marks, unpack(marks)))
    sweep = (queue.sweeping == 1 or ${tooManyMarks('ARGV[10]')}) and 1 or 0
  end
end
local answers = ''
${recordQueue(hosts)}
return {answers, tonumber(kept[2]), sweep}`,
}));
