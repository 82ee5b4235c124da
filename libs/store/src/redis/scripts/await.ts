import { isTooLate } from './due.js';
import { FIRST_TURN } from './host-lanes.js';
import { checkQueue, forQueues, queueReadKeys } from './queue-state.js';
import { ALLOW_OOM, NOW } from './script.js';

/** How long after a check a caller counts as waiting, in ms. Several times the interval between checks. */
export const AWAITED_MS = 5_000;

/**
 * Announces that a caller waits for entries for the next ARGV[3] ms. During that time, scripts that make entries
 * available publish a message on unseen:queue:<generation>. KEYS: 3 and on, the queue's. Returns the ms until an entry
 * may become due: 0 if one is available now, -1 if none will.
 */
export const awaitScript = forQueues((hosts) => ({
  name: 'unseenAwait',
  numberOfKeys: queueReadKeys(hosts),
  lua: `${ALLOW_OOM}${checkQueue(hosts)}${NOW}${hosts ? FIRST_TURN : ''}
local till = now + ARGV[3]
-- If the stored time is further ahead than that, the clock has been set back since.
if queue.awaited < till or queue.awaited > till + ARGV[3] then queue.set('awaited', till) end
queue.save()
local due = ${hosts ? 'firstTurn()' : 'queue.waiting > 0 and 0 or -1'}
local function comes(at)
  local first = math.max(0, at - now)
  due = due < 0 and first or math.min(due, first)
end
if queue.due > 0 then comes(${isTooLate('queue.due')} and now or queue.due) end
if queue.scheduled > 0 then comes(queue.scheduledAt) end
return {string.format('%.0f', due), tonumber(kept[2])}`,
}));
