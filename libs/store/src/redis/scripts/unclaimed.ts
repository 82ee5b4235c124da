import { checkQueue, forQueues, ORDERED, orderedBytes, queueReadKeys } from './queue-state.js';
import { ALLOW_OOM, NOW } from './script.js';

/*
 * A sync's commit removes scheduled entries whose items the new layers don't claim. It does so in steps: an instance
 * reads some entries, checks their items, and marks the unclaimed ones as forgotten.
 *
 * A commit sets an ordered queue's number `checking` to the clock, and the last step sets it to 0. Until then, no
 * scheduled entry comes due, so that the instance finds all of them, and a new item voids its earlier entry. Each step
 * moves `checkingTill` (ms). If no instance makes a step by then, it has died, or a failover has lost its last step.
 * The next lease or description then makes its own instance continue. An export doesn't wait for that.
 */

/** How long an instance may take for a step, in ms. */
const STEP_MS = 60_000;

/** Bytes from `checking` to the end of the numbers. The number after it is `checkingTill`. */
const LAST_BYTES = 6 * (ORDERED.length - ORDERED.indexOf('checking'));

/** Lua: whether a queue with these numbers is ordered. Unordered queues have fewer. */
const isOrdered = (numbers: string): string =>
  `(#${numbers} == ${orderedBytes(false)} or #${numbers} == ${orderedBytes(true)})`;

/** Lua: starts the checking in a queue's numbers, if it is ordered. Needs NOW. */
export const beginChecking = (numbers: string): string => `
if ${isOrdered(numbers)} then
  local last = #${numbers} - ${LAST_BYTES}
  ${numbers} = sub(${numbers}, 1, last) .. sub(${numbers}, 1, 6) .. struct.pack('>I6', now + ${STEP_MS}) .. sub(${numbers}, last + 13)
end
`;

/** Lua: ends a script that lacks the queue's keys if it may have to void entries. `numbers`: the queue's numbers. */
export const refuseWhileChecking = (numbers: string): string => `
do
  local numbers = ${numbers} or ''
  local checking = ${isOrdered('numbers')} and struct.unpack('>I6', numbers, #numbers - ${LAST_BYTES - 1}) or 0
  if checking > 0 then return redis.status_reply('QUEUE') end
end`;

/**
 * Lua: voids the new items' earlier entries in this open queue. `items`: a list with at least one item. `hash`: the
 * hash of item `n`.
 */
export const replaceIn = (queue: string, items: string, hash: string): string => `
if ${queue}.checking > 0 then
  local marks = {}
  for n = 1, #${items} do
    marks[2 * n - 1], marks[2 * n] = ${hash}, string.format('%.0f', ${queue}.clock)
  end
  ${queue}.set('marked', ${queue}.marked + call('HSET', ${queue}.marks, unpack(marks)))
end`;

/** Lua: whether no instance has made a step in time. Needs NOW. */
export const IS_LATE = `(queue.checking > 0 and (queue.checkingTill <= now or queue.checkingTill > now + ${STEP_MS}))`;

/** Lua: ends a script with `answer` if its instance must continue another one's steps. Needs NOW. */
export const takeOver = (answer: string): string => `
if ${IS_LATE} then
  queue.set('checkingTill', now + ${STEP_MS})
  queue.save()
  return ${answer}
end`;

/**
 * One step that removes entries from before the commit. KEYS: 3 and on, the queue's. ARGV:
 *
 *   3 births (6 bytes) and hashes of entries whose items are unclaimed
 *   4 the server's run id from the first step, '' in the first step itself
 *   5 '1' in the last step
 *
 * Returns the id of this run, or '' if all are removed. In another run, it changes nothing, because a failover may have
 * lost earlier steps.
 */
export const removeUnclaimedScript = forQueues((hosts) => ({
  name: 'unseenRemoveUnclaimed',
  numberOfKeys: queueReadKeys(hosts),
  lua: `${ALLOW_OOM}${checkQueue(hosts)}${NOW}
local items = tonumber(kept[2])
if queue.checking == 0 then return {'', items} end
local run = string.match(call('INFO', 'server'), 'run_id:(%x+)')
if ARGV[4] ~= '' and ARGV[4] ~= run then return {run, items} end
local hashes, births, marks = {}, {}, {}
for at = 1, #ARGV[3], 22 do
  local birth, hash = unpacked('>I6', ARGV[3], at), sub(ARGV[3], at + 6, at + 21)
  -- Keep entries that were queued after the commit.
  if birth <= queue.checking then
    if not births[hash] then hashes[#hashes + 1] = hash end
    births[hash] = math.max(births[hash] or 0, birth)
  end
end
local stored = #hashes > 0 and call('HMGET', queue.marks, unpack(hashes)) or {}
for n = 1, #hashes do
  local birth = births[hashes[n]]
  if not stored[n] or tonumber(stored[n]) < birth then
    marks[#marks + 1], marks[#marks + 2] = hashes[n], string.format('%.0f', birth)
  end
end
if #marks > 0 then queue.set('marked', queue.marked + call('HSET', queue.marks, unpack(marks))) end
queue.set('checkingTill', ARGV[5] == '1' and 0 or now + ${STEP_MS})
if ARGV[5] == '1' then queue.checking = 0 end
queue.save()
return {ARGV[5] == '1' and '' or run, items}`,
}));
