import { EPOCHS_OF_AGE } from '../../age.js';
import { HOST_LIMITS } from '../scripts/host-lanes.js';
import { RECALL, SYNC } from '../scripts/script.js';
import type { Frame } from './frame.js';
import { addSyncCounts, end, head, keptOfHosts, open, openQueue, openRange, shares } from './parts.js';
import { addTo, answered, claims } from './passes.js';

/**
 * Keeps listed items, or queue entries, in the sync's layers. An item in the filter's own layers keeps its remaining
 * lifetime. An item that only the sync's layers claim lives for at least the maximum age, counted from the opening of
 * the sync. It was either listed before and already has that lifetime, or is a false positive. A queue entry whose item
 * has expired is not kept.
 */
export function keep(frame: Frame): string {
  const { ages, hosts } = frame.task;
  const removedKey = `KEYS[${frame.keys.removed}]`;
  return `${head(frame)}${RECALL}${open(frame)}${openQueue(frame, HOST_LIMITS)}${shares(frame)}
if call('HEXISTS', meta, '${SYNC}full') == 1 then return redis.status_reply('ENDED') end
local away, owned, counted = {}, {}, ${frame.arg('counted')} == '1'
hashesOf()
if count > 0 and call('HLEN', ${removedKey}) > 1 then
  local noted = call('HMGET', ${removedKey}, unpack(hashes))
  for n = 1, count do away[n] = noted[n] and true or nil end
end
${claims(frame, 'own', 'owned', ages ? 'oldest first' : 'newest first')}
local inSync, toKeep, unknown, found = {}, count, 0, {}
for n = 1, count do
  if away[n]${ages ? ' or not counted and not owned[n]' : ''} then
    inSync[n], toKeep = true, toKeep - 1
  elseif not owned[n] then
    unknown = unknown + 1
  end
end
local isFull = ${frame.arg('syncGrows')} == '1' and toKeep > room(${openRange(frame, 'sync')})
if isFull${ages ? ' or unknown > 0' : ''} then
${claims(frame, 'sync', 'found', 'newest first')}
end
if isFull then
  local new = toKeep
  for n in pairs(found) do if not inSync[n] then new = new - 1 end end
  if new > room(${openRange(frame, 'sync')}) then return redis.status_reply('GROWSYNC') end
end
${
  ages
    ? `local lasts = {}
local function lastsUntil(at) return math.max(0, min(${EPOCHS_OF_AGE}, math.floor(at / epochMs) - epoch)) end
local whole = counted and lastsUntil(math.max(now, epoch * epochMs) + ${frame.arg('lives')})
local again = lastsUntil(tonumber(${frame.arg('again')}))
for n = 1, count do lasts[n] = owned[n] or found[n] and again or whole end`
    : ''
}
local fresh = {}
${addTo(frame, 'sync', {
  ...{ skip: 'inSync', left: 'toKeep', lasts: 'lasts[n]' },
  then: (isNew) => `if ${isNew} then fresh[n] = true end
        ${answered(frame, { skip: 'inSync', left: 'toKeep' }, 'true')}`,
})}
local out, listed, new, known = {}, 0, 0, 0
for n = 1, count do
  if away[n] then
    out[n] = '2'
  else
    listed = listed + 1
    local isNew = fresh[n] and not owned[n]
    if isNew then new = new + 1 elseif fresh[n] then known = known + 1 end
    out[n] = isNew and '1' or '0'
  end
end
if not counted then listed, new = 0, 0 end
${hosts ? keptOfHosts(frame, 'fresh', 1) : ''}
${addSyncCounts({ kept: 'known', listed: 'listed', new: 'new' })}
${end(frame)}`;
}
