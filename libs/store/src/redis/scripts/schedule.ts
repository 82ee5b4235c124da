import { countIn } from './queue-moves.js';
import { SCHEDULED } from './queue-state.js';

/**
 * `queue.postpone` stores entries that come back at the time of this score. `queue.schedule` schedules entries for this
 * time.
 */
export const schedule = (hosts: boolean): string => `
function queue.postpone(entries, score)
  local members, number = {}, queue.delays
  for n = 1, #entries do
    number = number + 1
    members[2 * n - 1], members[2 * n] = string.format('%.0f', score), pack('>I6', number) .. entries[n]
  end
  each('ZADD', queue.delayed, members)
  queue.set('delays', number)
end
function queue.schedule(entries, at)
  queue.order()
  queue.postpone(entries, ${SCHEDULED} + at)
  if queue.scheduled == 0 or at < queue.scheduledAt then queue.scheduledAt = at end
  queue.set('scheduled', queue.scheduled + #entries)
  ${countIn(hosts, 'entries', 'scheduled', 1)}
end
`;
