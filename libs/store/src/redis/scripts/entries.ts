import { LEASE_ENDED, MAX_LEASE_MS } from '../../port/index.js';
import { IS_DUE } from './due.js';
import { RANK_OF, WALK_LANE, WALK_LANES, WALK_LEASES, WALK_MEMBERS } from './entry-walks.js';
import { LANE_RECORDS } from './lane-records.js';
import { SPLIT } from './lanes.js';
import { leases, marks } from './queue-moves.js';
import { checkQueue, forQueues, queueReadKeys } from './queue-state.js';
import { NOW } from './script.js';

/** The states of entries, in the letters of the script below. */
export const STATE_LETTERS = { waiting: 'w', leased: 'l', delayed: 'd', scheduled: 's', dead: 'x' } as const;

/**
 * The sections of a walk, in the order in which entries move through them, so that the walk misses no entry. The first
 * sections, in capital letters, have the entries that were due when the walk began. They come first because the queue
 * may move these entries to the waiting ones at any time. `states`: the states in which a section lists its entries
 * when the walk begins. While a commit checks scheduled entries, those that are due stay scheduled. `placeBytes`: the
 * size of a place in a cursor.
 */
export const SECTIONS = [
  { letter: 'L', states: 'wx', placeBytes: 18 },
  { letter: 'D', states: 'wx', placeBytes: 14 },
  { letter: 'S', states: 'wxs', placeBytes: 14 },
  { letter: 'w', states: 'w', placeBytes: 14 },
  { letter: 'l', states: 'l', placeBytes: 18 },
  { letter: 'd', states: 'd', placeBytes: 14 },
  { letter: 's', states: 's', placeBytes: 14 },
  { letter: 'x', states: 'x', placeBytes: 6 },
] as const;
/** Bytes of a place among the waiting entries of all lanes. */
export const LANES_PLACE_BYTES = 36;
/** Bytes in a cursor for the time when a segment's walk began, in ms. */
export const BEGAN_BYTES = 6;

/** `stateOf` returns the state of an entry that comes back. See bringBack. */
const STATE_OF = `
local function stateOf(entry)
  return maxAttempts > 0 and unpacked('>I3', entry, 2) >= maxAttempts and 'x' or 'w'
end
`;

/**
 * A segment's entries, without forgotten ones, in the states in which the next lease would find them. The order of
 * places never changes, so the list has every entry that stays. Entries whose lease is extended between two pages may
 * appear twice or not at all. KEYS: 3 and on, the queue's. ARGV:
 *
 *   3 letters of the sections to read
 *   4 where to begin: '', or the place from the previous reply
 *   5 maximum number of entries
 *   6 approximate number to read
 *   7 the letter of the state to list, or '' for all
 *   8 attempts that make a dead letter (0: no limit)
 *   9 in a per-host queue: the lane of the entries, or ''
 *
 * Returns:
 *
 *   the length of the next place (1 byte), and that place, empty at the end: the section's letter, when the walk began
 *     (6), and where to continue
 *   how many more entries could be read (2)
 *   for each entry: length of its place (1), its place (entry-places.ts), its state (1), when it comes back, in ms (6;
 *     0 if it has no time), length of a dead letter's reason (2), reason, length of the host's name (2), name, entry
 */
export const entriesScript = forQueues((hosts) => ({
  name: 'unseenEntries',
  numberOfKeys: queueReadKeys(hosts),
  lua: `${checkQueue(hosts)}${NOW}${hosts ? LANE_RECORDS : ''}${marks(hosts)}${SPLIT}${leases(false)}${IS_DUE}
local wanted, most, left = ${hosts ? 'ARGV[9]' : "''"}, tonumber(ARGV[5]), tonumber(ARGV[6])
local only, maxAttempts = ARGV[7], tonumber(ARGV[8])
local begin, began, place = sub(ARGV[4], 1, 1), now, ''
if begin ~= '' then began = unpacked('>I6', ARGV[4], 2) end
local furthest = math.max(began, now) + ${MAX_LEASE_MS}
local walks, heads, places, states, reasons, times, names = {}, {}, {}, {}, {}, {}, {}
local lane = queue
local function isFull() return #heads >= most or left <= 0 end
local function take(place, state, entry, reason, at)
  left = left - 1
  if only ~= '' and only ~= state then return end
  ${hosts ? `if wanted ~= '' and laneOf(entry) ~= wanted then return end` : ''}
  heads[#heads + 1] = entry
  places[#heads], states[#heads] = place, state
  reasons[#heads], times[#heads] = reason or '', at or 0
  if state == 'w' or state == 'x' then times[#heads] = 0 end
  if state == 'x' and at then reasons[#heads] = '${LEASE_ENDED}' end
end
${
  hosts
    ? `if wanted ~= '' then
  queue.lanesOf({wanted})
  lane = lanes[wanted]
end
local counts = {w = 'waiting', l = 'leased', d = 'delayed', s = 'scheduled', x = 'dead'}`
    : ''
}${STATE_OF}${WALK_LANE}${hosts ? WALK_LANES : ''}${RANK_OF}${WALK_LEASES}${WALK_MEMBERS}
for letter in string.gmatch(ARGV[3], '%a') do
  if begin == '' or begin == letter then
    local at = begin == letter and sub(ARGV[4], ${2 + BEGAN_BYTES}) or nil
    begin = ''
    local stop = ${hosts ? `(wanted == '' or lane[counts[string.lower(letter)]] > 0) and walks[letter](at)` : 'walks[letter](at)'}
    if stop then place = letter .. pack('>I6', began) .. stop break end
  end
end
local gone, out = queue.forgotten(heads), {}
${
  hosts
    ? `local ids = {}
for n = 1, #heads do ids[n] = laneOf(heads[n]) end
queue.lanesOf(ids)
for n = 1, #heads do
  names[n] = lanes[ids[n]].name
  if not lanes[ids[n]].stored then error({err = 'UNSEEN the record of a lane is missing'}) end
end`
    : ''
}
for n = 1, #heads do
  if not gone[n] then
    local name = names[n] or ''
    out[#out + 1] = char(#places[n]) .. places[n] .. states[n] .. pack('>I6I2', times[n], #reasons[n]) .. reasons[n] .. pack('>I2', #name) .. name .. heads[n]
  end
end
return {char(#place) .. place .. pack('>I2', math.max(0, left)) .. concat(out), tonumber(kept[2])}`,
}));
