import { CHECK_QUEUE, QUEUE_READ_KEYS } from './queue-state.js';
import { ALLOW_OOM, NOW, type Script } from './script.js';

/** How long after a look a caller is assumed to wait, in ms: several looks. */
export const AWAITED_MS = 5_000;

/**
 * Announces that a caller waits for entries for the next ARGV[3] ms. Meanwhile, scripts that make entries available
 * publish a message on unseen:queue:<generation>. KEYS: 3 and on, the queue's. Returns the ms until an entry may become
 * due: 0 if one is available now, -1 if none will become due.
 */
export const awaitScript: Script = {
  name: 'unseenAwait',
  numberOfKeys: QUEUE_READ_KEYS,
  lua: `${ALLOW_OOM}${CHECK_QUEUE}${NOW}
local till = now + ARGV[3]
-- If a time is later than that, the clock was set back after it was stored.
if queue.awaited < till or queue.awaited > till + ARGV[3] then queue.set('awaited', till) end
queue.save()
local due = -1
if queue.waiting > 0 then due = 0
elseif queue.due > 0 then due = math.max(0, queue.due - now) end
return {string.format('%.0f', due), tonumber(kept[2])}`,
};
