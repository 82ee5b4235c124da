import { CHECK_QUEUE } from './queue-state.js';
import { ALLOW_OOM, NOW, type Script } from './script.js';

/** For so long after a look somebody is taken to wait, in ms: for some looks more. */
export const AWAITED_MS = 5_000;

/**
 * Says that somebody wants to be told of new entries: scripts that bring some into line publish that on
 * unseen:queue:<generation> meanwhile. KEYS: 3 and on, the queue's. ARGV: 3 for how many ms.
 * Answers in how many ms something may come due: 0 if there is something to lease, -1 if nothing will.
 */
export const awaitScript: Script = {
  name: 'unseenAwait',
  numberOfKeys: 10,
  lua: `${ALLOW_OOM}${CHECK_QUEUE}${NOW}
local till = now + ARGV[3]
-- A time that is further ahead was given before the clock was set back.
if queue.awaited < till or queue.awaited > till + ARGV[3] then queue.set('awaited', till) end
queue.save()
local due = -1
if queue.waiting > 0 then due = 0
elseif queue.due > 0 then due = math.max(0, queue.due - now) end
return {string.format('%.0f', due), tonumber(kept[2])}`,
};
