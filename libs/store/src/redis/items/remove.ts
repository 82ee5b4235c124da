import { Removed } from '../../port/index.js';
import { entriesAt } from '../scripts/entry-places.js';
import { HOST_LIMITS } from '../scripts/host-lanes.js';
import { ALLOW_OOM, RECALL, SYNC } from '../scripts/script.js';
import { tooManyMarks } from '../scripts/sweep.js';
import { hiddenKeyOf } from './aged-cells.js';
import type { Frame, StackName } from './frame.js';
import { addSyncCounts, end, head, keptOfHosts, open, openQueue } from './parts.js';
import { answered, claims, kindOf, visit } from './passes.js';

/** The answer if an item's entry has moved. */
const MOVED = String(Removed.Moved);

/**
 * See Counters.remove. Removes from the filter's own and the sync's layers. If that notes too many removals, it sets
 * `full` in meta, which ends the sync.
 */
export function remove(frame: Frame): string {
  const { ages, named = false, queued, hosts } = frame.task;
  const sync = frame.has('sync');
  const kind = kindOf(frame);
  const lower = (stack: StackName, out: string, left: string): string =>
    visit(frame, stack, {
      ...{ skip: out, left },
      before: (place) => kind.locals(place),
      item: (place) => `${kind.claim(place.shape)}
      if live then${kind.lower(frame, place)}
        ${answered(frame, { skip: out, left }, 'moved')}
      end`,
      after: (place) => kind.account(frame, place),
    });
  return `${ALLOW_OOM}${head(frame)}${RECALL}${open(frame)}
${ages ? roomToHide(frame) : ''}${openQueue(frame, queued ? mark(frame) : '')}
local out, left, sweep = {}, count, 0
${
  named
    ? `local there, taken = openedQueue.entriesAt(${frame.arg('entries')}), {}
for n = 1, count do
  local hash = there[n] and sub(there[n], 15, 30)
  if not hash or taken[hash] then out[n], left = '${MOVED}', left - 1 else taken[hash] = true end
end`
    : ''
}
${lower('own', 'out', 'left')}
${
  sync
    ? `local second, secondLeft, unkept = {}, count, 0
${
  named
    ? `for n = 1, count do
  if out[n] == '${MOVED}' then second[n], secondLeft = '${MOVED}', secondLeft - 1 end
end`
    : ''
}
${lower('sync', 'second', 'secondLeft')}
${
  hosts
    ? `local lost = {}
for n = 1, count do lost[n] = second[n] == '1' end${keptOfHosts(frame, 'lost', -1)}`
    : ''
}
for n = 1, count do
  local wasOwned = out[n] and out[n] ~= '0'
  if wasOwned and second[n] == '1' then unkept = unkept - 1 end
  if not wasOwned then out[n] = second[n] end
end
unkept = math.max(unkept, -tonumber(call('HGET', meta, '${SYNC}kept') or 0))
${addSyncCounts({ kept: 'unkept' })}
if call('HEXISTS', meta, '${SYNC}full') == 0 then
  local noted = {}
  hashesOf()
  for n = 1, count do
    if out[n] ~= '${MOVED}' then noted[#noted + 1], noted[#noted + 2] = hashes[n], '' end
  end
  if #noted > 0 then call('HSET', KEYS[${frame.keys.removed}], unpack(noted)) end
  if call('HLEN', KEYS[${frame.keys.removed}]) - 1 > tonumber(${frame.arg('maxNoted')}) then call('HSET', meta, '${SYNC}full', '1') end
end`
    : ''
}
local removed, refused = 0, 0
for n = 1, count do
  out[n] = out[n] or '0'
  if out[n] == '1' then removed = removed + 1 elseif out[n] ~= '${MOVED}' then refused = refused + 1 end
end
${markRemoved(frame)}
${end(frame, 'removed', 'refused')}`;
}

/** In a filter that ages, refuses a removal that might have to hide more items than allowed. */
const roomToHide = (frame: Frame): string =>
  frame.stacks
    .map(
      (stack) => `
do
  local hidden, most = call('ZCOUNT', ${hiddenKeyOf(frame, stack)}, string.format('%.0f', epoch), '+inf'), tonumber(${frame.arg('maxHidden')})
  if hidden + count > most then
    local found, claimed = {}, hidden
    ${claims(frame, stack, 'found')}
    for _ in pairs(found) do claimed = claimed + 1 end
    if claimed > most then return redis.status_reply('FULL ' .. hidden) end
  end
end`,
    )
    .join('');

/**
 * `queue.mark`: marks items as forgotten if the queue has any entry. It takes each item's hash followed by the clock,
 * and returns 1 if a sweep step is due, and 0 otherwise.
 */
const mark = (frame: Frame): string => {
  const { hosts, named } = frame.task;
  return `${hosts ? HOST_LIMITS : ''}${named ? entriesAt(hosts) : ''}
function queue.mark(marks)
  if queue.waiting + queue.leased + queue.later + queue.letterCount == 0 then return 0 end
  queue.set('marked', queue.marked + call('HSET', queue.marks, unpack(marks)))
  queue.save()
  return (queue.sweeping == 1 or ${tooManyMarks(frame.arg('maxMarks'))}) and 1 or 0
end
`;
};

const markRemoved = (frame: Frame): string =>
  frame.task.queued
    ? `
if removed > 0 then
  local marks, clock = {}, string.format('%.0f', openedQueue.clock)
  hashesOf()
  for n = 1, count do
    if out[n] == '1' then marks[#marks + 1], marks[#marks + 2] = hashes[n], clock end
  end
  ${frame.task.hosts ? undiscovered(frame) : ''}
  sweep = openedQueue.mark(marks)
end`
    : '';

/** Subtracts the removed items from their hosts' discovered URLs. */
const undiscovered = (frame: Frame): string => `
  if openedQueue.countsUrls() then
    local ids, hosts = {}, ${frame.arg('hosts')}
    for n = 1, count do
      if out[n] == '1' then ids[#ids + 1] = sub(hashes[n], 1, 4) .. sub(hosts, 4 * n - 3, 4 * n) end
    end
    openedQueue.undiscovered(ids)
    openedQueue.flush()
    openedQueue.save()
  end`;
