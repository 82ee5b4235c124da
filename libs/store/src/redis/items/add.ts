import { EPOCHS_OF_AGE } from '../../age.js';
import { HOST_LIMITS } from '../scripts/host-lanes.js';
import { moveDue } from '../scripts/due.js';
import { bringBack, leases, marks } from '../scripts/queue-moves.js';
import { MOST_LEASES, QUEUE_FIELD } from '../scripts/queue-state.js';
import { schedule } from '../scripts/schedule.js';
import { RECALL } from '../scripts/script.js';
import { refuseWhileChecking, replaceIn } from '../scripts/unclaimed.js';
import type { Frame } from './frame.js';
import { headBytes } from './packed-cells.js';
import { addSyncCounts, end, head, keptOfHosts, open, openQueue, openRange, shares } from './parts.js';
import { addTo, answered, claims } from './passes.js';

/**
 * See Counters.add. An item that the sync's layers claim is not new. The add leaves it unchanged. If the filter ages,
 * the add extends its lifetime in all layers that claim it, both the filter's own and the sync's.
 */
export function add(frame: Frame): string {
  const { ages, queued, hosts, visits = false } = frame.task;
  const limits = hosts && !visits;
  const sync = frame.has('sync');
  return `${head(frame)}${RECALL}${visits && !queued ? refuseWhileChecking(frame.field(QUEUE_FIELD)) : ''}${open(frame)}${shares(frame)}
${ages ? `local lifetime = min(${EPOCHS_OF_AGE}, math.floor((math.max(now, epoch * epochMs) + ${frame.arg('lives')}) / epochMs) - epoch)` : ''}
${sync ? `local listed, unlisted = {}, count` : 'local unlisted = count'}
${
  sync && ages
    ? `-- In the sync's layers an item lives at least as long as in the filter's own.
local owned = {}
if lifetime < ${EPOCHS_OF_AGE} then
${claims(frame, 'own', 'owned', 'oldest first')}
end`
    : ''
}
${
  sync
    ? `${claims(frame, 'sync', 'listed', 'newest first')}
for _ in pairs(listed) do unlisted = unlisted - 1 end`
    : ''
}
${hosts ? queue(frame) : ''}${limits ? limited(frame) : ''}
${roomForNew(frame)}
${
  sync
    ? `if ${frame.arg('syncGrows')} == '1' and unlisted > room(${openRange(frame, 'sync')}) then
  return redis.status_reply('GROWSYNC')
end`
    : ''
}${hosts ? '' : queue(frame)}
local out, left, added = {}, count, 0
${
  sync && !ages
    ? `for n = 1, count do
  if listed[n] then out[n], left = '0', left - 1 end
end`
    : ''
}
${
  limits
    ? `for n in pairs(limited) do
  out[n], left = '2', left - 1${sync && !ages ? '\n  listed[n] = true' : ''}
end`
    : ''
}
${addTo(frame, 'own', {
  ...{ skip: 'out', left: 'left', lasts: 'lifetime' },
  ...(sync && ages && { only: 'listed' }),
  then: (isNew) => `if ${isNew}${sync && ages ? ' and not listed[n]' : ''} then
        added = added + 1
        ${answered(frame, { skip: 'out', left: 'left' }, "'1'")}
      else
        ${answered(frame, { skip: 'out', left: 'left' }, "'0'")}
      end`,
})}
${
  sync
    ? `${ages ? `for n = 1, count do out[n] = out[n] or '0' end` : ''}
local inSync, toKeep, freshCount = ${ages ? '{}, count' : 'listed, unlisted'}, 0
${hosts ? 'local fresh = {}' : ''}
${limits && ages ? 'for n in pairs(limited) do inSync[n], toKeep = true, toKeep - 1 end' : ''}
${addTo(frame, 'sync', {
  ...{ skip: 'inSync', left: 'toKeep', lasts: 'math.max(lifetime, owned[n] or 0)' },
  then: (isNew) => `if ${isNew} then freshCount = freshCount + 1${hosts ? ' fresh[n] = true' : ''} end
        ${answered(frame, { skip: 'inSync', left: 'toKeep' }, 'true')}`,
})}
if count > 0 and call('HLEN', KEYS[${frame.keys.removed}]) > 1 then
  call('HDEL', KEYS[${frame.keys.removed}], unpack(hashesOf()))
end
${addSyncCounts({ kept: 'freshCount' })}`
    : ''
}${queueNew(frame)}
${hosts && sync ? keptOfHosts(frame, 'fresh', 1) : ''}
local duplicate = count + ${frame.arg('copies')} - added${limits ? ' - limitedCount' : ''}
${end(frame, 'added', 'duplicate')}`;
}

/** Opens the queue, and adds the functions that queue new items. */
function queue(frame: Frame): string {
  const { queued, hosts, visits = false } = frame.task;
  if (visits) return openQueue(frame, hosts ? HOST_LIMITS : '');
  const due =
    queued &&
    `${marks(hosts)}${bringBack(hosts, frame.arg('attempts'))}${leases(hosts)}${moveDue(hosts)}
if ${frame.arg('delayMs')} ~= '0' then
${schedule(hosts)}
end
`;
  return openQueue(frame, due ? `${due}${hosts ? HOST_LIMITS : ''}` : '');
}

/**
 * The items that would exceed their host's `maxUrls`, or whose host would exceed the limit on hosts. Copies of an item
 * count once, and get the same result.
 */
const limited = (frame: Frame): string => `
local limited, limitedCount = {}, 0
if openedQueue.mayLimit(count) then
  local found, asked, rooms, ids, items = {}, {}, {}, {}, {}
  ${claims(frame, 'own', 'found')}
  local payloads, p = ${frame.arg('payloads')}, 1
  for n = 1, count do
    local a1, a2, a3, a4 = byte(payloads, p + 16, p + 19)
    items[n], ids[n] = sub(payloads, p, p + 15), sub(payloads, p, p + 3) .. sub(payloads, p + 20, p + 23)
    p = p + 20 + ((a1 * 256 + a2) * 256 + a3) * 256 + a4
  end
  openedQueue.lanesOf(ids)
  local hosts = openedQueue.hostsLeft()
  for n = 1, count do
    local item, id = items[n], ids[n]
    if not found[n]${frame.has('sync') ? ' and not listed[n]' : ''} and not asked[item] then
      local room = rooms[id]
      if not room then
        local urls, isStored = openedQueue.roomOf(id)
        room = (isStored or hosts > 0) and urls or 0
        if not isStored and room > 0 then hosts = hosts - 1 end
      end
      if room > 0 then asked[item] = true else limited[n], limitedCount = true, limitedCount + 1 end
      rooms[id] = math.max(0, room - 1)
    end
  end
  unlisted = unlisted - limitedCount
end`;

/**
 * Counts the new items if the filter may grow and its known layers may be too small for the batch. Copies count once,
 * because they have the same bytes in the first layer's packed items. A hidden item counts as new.
 */
const roomForNew = (frame: Frame): string => `
if ${frame.arg('grows')} == '1' then
  local free = room(${openRange(frame, 'own')})
  if unlisted > free then
    local found, asked = {}, {}
    ${claims(frame, 'own', 'found')}
    local packed, at = ${frame.layerArg(frame.first, 'packed')}, 1
    for n = 1, count do
      local a, b = byte(packed, at, at + 1)
      local next = at + ${headBytes(frame.first.shape)} + a + b
      local item = sub(packed, at, next - 1)
      if not found[n]${frame.has('sync') ? ' and not listed[n]' : ''}${frame.task.hosts && !frame.task.visits ? ' and not limited[n]' : ''} and not asked[item] then asked[item], free = true, free - 1 end
      at = next
    end
    if free < 0 then return redis.status_reply('GROW') end
  end
end`;

/** Queues the new items in batch order, behind the entries that are due, or schedules them. */
const queueNew = (frame: Frame): string => {
  const { queued, visits = false, ages } = frame.task;
  if (queued && visits) return ages ? '' : voidEarlier;
  return queued
    ? `
if added > 0 then
  local entries, payloads, p = {}, ${frame.arg('payloads')}, 1
  local priority, from = tonumber(${frame.arg('priority')}), now + ${frame.arg('delayMs')}
  local head = struct.pack('>I4I6I4', priority * ${MOST_LEASES + 1}, openedQueue.clock + 1, math.floor(from / 1000))
  for n = 1, count do
    local a1, a2, a3, a4 = byte(payloads, p + 16, p + 19)
    local next = p + 20 + ((a1 * 256 + a2) * 256 + a3) * 256 + a4
    if out[n] == '1' then entries[#entries + 1] = head .. sub(payloads, p, next - 1) end
    p = next
  end
  openedQueue.moveDue()
  ${replaceIn('openedQueue', 'entries', 'sub(entries[n], 15, 30)').trim()}
  if priority > 0 then openedQueue.order() end
  if from > now then openedQueue.schedule(entries, from) else openedQueue.add(entries) end
  ${frame.task.hosts ? `openedQueue.discovered(entries, ${frame.arg('names')})` : ''}
  openedQueue.set('clock', openedQueue.clock + 1)
  ${frame.task.hosts ? 'openedQueue.flush()' : ''}
  openedQueue.save()
end`
    : '';
};

/** Voids the new items' earlier entries. Not for filters that age: there, only a new entry voids an earlier one. */
const voidEarlier = `
if added > 0 then
  local fresh = {}
  hashesOf()
  for n = 1, count do
    if out[n] == '1' then fresh[#fresh + 1] = hashes[n] end
  end
  ${replaceIn('openedQueue', 'fresh', 'fresh[n]').trim()}
  openedQueue.save()
end`;
