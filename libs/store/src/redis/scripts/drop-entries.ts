import { entriesAt } from './entry-places.js';
import { LANE_RECORDS } from './lane-records.js';
import { CHECK_QUEUE_CHANGE, forQueues, openChanged, queueChangeKeys, recordQueue } from './queue-state.js';
import { ALLOW_OOM, RECALL } from './script.js';
import { tooManyMarks } from './sweep.js';

/**
 * Drops the entries that are still in their places, by marking their items as forgotten at their births. ARGV: 9 names
 * of entries, packed, 10 marks without a sweep.
 */
export const dropEntriesScript = forQueues((hosts) => ({
  name: 'unseenDropEntries',
  numberOfKeys: queueChangeKeys(hosts),
  moreKeys: true,
  lua: `${ALLOW_OOM}${CHECK_QUEUE_CHANGE}${RECALL}${openChanged(hosts)}${hosts ? LANE_RECORDS : ''}${entriesAt(hosts)}
local found, count = queue.entriesAt(ARGV[9])
local out, live, births, marks, sweep = {}, {}, {}, {}, 0
for n = 1, count do
  out[n] = found[n] and '1' or '0'
  if found[n] then
    local hash, birth = sub(found[n], 15, 30), unpacked('>I6', found[n], 5)
    live[#live + 1], births[hash] = found[n], math.max(births[hash] or 0, birth)
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
local answers = concat(out)
${recordQueue(hosts)}
return {answers, tonumber(kept[2]), sweep}`,
}));
