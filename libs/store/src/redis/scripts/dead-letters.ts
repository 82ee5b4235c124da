import { moveDue } from './due.js';
import { bringBack, countIn, flushed, hostLanes, leases, marks, TIDY } from './queue-moves.js';
import { LANE_RECORDS } from './lane-records.js';
import {
  CHECK_QUEUE_CHANGE,
  checkQueue,
  forQueues,
  idBytes,
  openChanged,
  queueChangeKeys,
  queueReadKeys,
} from './queue-state.js';
import { ALLOW_OOM, RECALL, RECORD } from './script.js';

/**
 * Dead letters with numbers above ARGV[3], as stored. Deletes forgotten ones unless their hosts count them as well.
 * KEYS: 3 and on, the queue's. ARGV: 3 number, 4 how many to read. Returns "<last number, or 0 if no more follow>\n",
 * then the dead letters.
 */
export const deadLettersScript = forQueues((hosts) => ({
  name: 'unseenDeadLetters',
  numberOfKeys: queueReadKeys(hosts),
  lua: `${checkQueue(hosts)}${hosts ? LANE_RECORDS : ''}${marks(hosts)}
local found = call('ZRANGEBYSCORE', queue.letters, '(' .. ARGV[3], '+inf', 'LIMIT', 0, ARGV[4])
local heads = {}
for n = 1, #found do heads[n] = sub(found[n], 9 + unpacked('>I2', found[n], 7), 8 + ${idBytes(hosts)} + unpacked('>I2', found[n], 7)) end
local last = #found == tonumber(ARGV[4]) and unpacked('>I6', found[#found]) or 0
local gone = {}
for n in pairs(queue.forgotten(heads)) do gone[#gone + 1], found[n] = found[n], '' end
${hosts ? '' : `each('ZREM', queue.letters, gone)`}
return {string.format('%.0f\\n', last) .. concat(found), tonumber(kept[2])}`,
}));

/**
 * putBack or purge: see Queue. ARGV:
 *
 *    9 attempts that make a dead letter (0: no limit)
 *   10 verb
 *   11 the ids, for each dead letter: its number (6 bytes), how many ids (2), and for each id 0 (2) and 8 bytes of the
 *      item's hash
 *   12 where in the hash these bytes begin
 */
export const reviewScript = forQueues((hosts) => ({
  name: 'unseenReview',
  numberOfKeys: queueChangeKeys(hosts),
  moreKeys: true,
  lua: `${ALLOW_OOM}${CHECK_QUEUE_CHANGE}${RECALL}${openChanged(hosts)}${hostLanes(hosts)}${marks(hosts)}${bringBack(hosts, 'ARGV[9]')}${leases(hosts)}${moveDue(hosts)}
if ARGV[10] == 'putBack' then queue.moveDue() end
local packed, out, gone, entries, places, taken = ARGV[11], {}, {}, {}, {}, {}
local at = 1
while at <= #packed do
  local number = string.format('%.0f', unpacked('>I6', packed, at))
  local count = unpacked('>I2', packed, at + 6)
  local letter = not taken[number] and call('ZRANGEBYSCORE', queue.letters, number, number)[1] or ''
  local entry = letter ~= '' and sub(letter, 9 + unpacked('>I2', letter, 7)) or ''
  for id = at + 8, at + 7 + count * 10, 10 do
    out[#out + 1] = '0'
    if entry ~= '' and not taken[number] and sub(entry, 15 + ARGV[12], 22 + ARGV[12]) == sub(packed, id + 2, id + 9) then
      taken[number], gone[#gone + 1] = true, letter
      entries[#entries + 1], places[#places + 1] = entry, #out
    end
  end
  at = at + 8 + count * 10
end
local forgotten, back = queue.forgotten(entries), {}
for n = 1, #entries do
  if not forgotten[n] then
    out[places[n]] = '1'
    back[#back + 1] = sub(entries[n], 1, 1) .. '\\0\\0\\0' .. sub(entries[n], 5)
  end
end
each('ZREM', queue.letters, gone)
${countIn(hosts, 'entries', 'dead', -1)}
queue.owe(back)
if ARGV[10] == 'putBack' then queue.add(back) end
${flushed(hosts)}
${TIDY}
queue.save()
local answers = concat(out)
${RECORD}
return {answers, tonumber(kept[2])}`,
}));
