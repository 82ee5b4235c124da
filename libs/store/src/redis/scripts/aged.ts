import { EPOCHS_OF_AGE } from '../../age.js';
import {
  CLEAN,
  cleanItem,
  judgeItem,
  LASTING,
  leastAged,
  lowerAged,
  restOf,
  writeAged,
} from './aged-cells.js';
import {
  addSyncCount,
  addTo,
  claim,
  head,
  type Of,
  passes,
  RECORDED,
  reply,
  SAVE_OPEN,
  SHARES,
  show,
  through,
} from './aged-passes.js';
import {
  type AgedLists,
  CHANGE,
  changeFrame,
  fieldsOf,
  metaName,
  openAge,
  openKeys,
  pageBytesAt,
  READ,
  saveAge,
  scriptName,
} from './aged-segment.js';
import { FORGET, openLine } from './items.js';
import { type LayerShape, QUEUE_NEW } from './layers.js';
import { bringBack, LEASES, MARKS, MOVE_DUE } from './queue-state.js';
import { addCounts, ALLOW_OOM, checkSegment, NOW, RECALL, type Script } from './script.js';
import { noteRemovals, SYNC } from './synced.js';

/*
 * The scripts on items of a filter that ages: see aged-segment.ts.
 */

/**
 * add. The verb says for how many ms the items live, and how many copies of items the batch leaves out. What the second list
 * claims is not new.
 */
export function addAgedScript(lists: AgedLists, queued: boolean): Script {
  const frame = changeFrame(lists, queued);
  const { hiddenAt } = frame;
  const { own, sync } = lists;
  const ofOwn = {
    done: 'done',
    left: 'left',
    fresh: 'fresh',
    gone: 'gone',
    only: 'listed',
    shown: 'shown',
    lasts: 'lifetime',
  };
  const ofSync = {
    ...{
      done: 'kept2',
      left: 'left2',
      fresh: 'fresh2',
      gone: 'syncGone',
      only: 'nothing',
      shown: 'shown2',
      lasts: 'math.max(lifetime, before[n] or 0)',
    },
  };
  return {
    name: scriptName(queued ? 'AddQueued' : 'Add', lists),
    numberOfKeys: queued ? 12 : 4,
    moreKeys: true,
    lua: `${head(lists, queued)}${openKeys(lists, frame)}${RECALL}${openAge(lists, frame)}${CLEAN}${SHARES(lists)}
local opened, syncOpened, listed, unlisted, nothing = open, syncOpen, {}, count, {}
local lifetime = min(${EPOCHS_OF_AGE}, math.floor((math.max(now, epoch * epochMs) + ARGV[${CHANGE.verb}]) / epochMs) - epoch)
${LASTING}
${
  sync
    ? `-- In the second list an item lives for no shorter than it has left in the own one.
local before = {}
if lifetime < ${EPOCHS_OF_AGE} then
  local seen, seenLeft = {}, count
  local claiming = {${claim(lists, 'own', frame, { done: 'seen', left: 'seenLeft', found: 'before', gone: 'gone' })}
  }
  ${through(lists, 'own', 'claiming', 'seenLeft')}
end
do
local seen, seenLeft = {}, count
local listing = {${claim(lists, 'sync', frame, { done: 'seen', left: 'seenLeft', found: 'listed', gone: 'syncGone' })}
}
${through(lists, 'sync', 'listing', 'seenLeft')}
for _ in pairs(listed) do unlisted = unlisted - 1 end
end`
    : ''
}
if ARGV[${CHANGE.grows}] == '1' then
  local free = room(open, ${own.length - 1})
  if unlisted > free then
    local seen, seenLeft, found = {}, count, {}
    local claiming = {${claim(lists, 'own', frame, { done: 'seen', left: 'seenLeft', found: 'found', gone: 'nothing' })}
    }
    ${through(lists, 'own', 'claiming', 'seenLeft')}
    local asked = {}
    for n = 1, count do
      if not found[n] and not listed[n] and not asked[hashesOf()[n]] then asked[hashes[n]], free = true, free - 1 end
    end
    if free < 0 then return redis.status_reply('GROW') end
  end
end
${
  sync
    ? `if ARGV[${CHANGE.syncGrows}] == '1' and unlisted > room(${own.length} + syncOpen, ${own.length + sync.layers.length - 1}) then
  return redis.status_reply('GROWSYNC')
end`
    : ''
}
${queued ? openLine(`${MARKS}${bringBack(`ARGV[${CHANGE.limit}]`)}${LEASES}${MOVE_DUE}`, sync !== undefined) : ''}
local done, left, fresh, shown = {}, count, {}, {}
local adding = {${addTo(lists, 'own', frame, ofOwn)}
}
${through(lists, 'own', 'adding', 'left', 'last')}
local out, added = {}, 0
for n = 1, count do
  local isNew = fresh[n] and not listed[n]
  out[n] = isNew and '1' or '0'
  if isNew then added = added + 1 end
end
${
  sync
    ? `local kept2, left2, fresh2, shown2 = {}, count, {}, {}
local keeping = {${addTo(lists, 'sync', frame, ofSync)}
}
${through(lists, 'sync', 'keeping', 'left2', 'last')}
local removedKey, freshCount = KEYS[${hiddenAt + 2}], 0
for _ in pairs(fresh2) do freshCount = freshCount + 1 end
if count > 0 and call('HLEN', removedKey) > 1 then call('HDEL', removedKey, unpack(hashesOf())) end
${show(hiddenAt + 1, 'shown2')}
${addSyncCount('kept', 'freshCount')}`
    : ''
}
${show(hiddenAt, 'shown')}
${queued ? QUEUE_NEW : ''}
local answers, duplicate = concat(out, '', 1, count), count + ARGV[${CHANGE.more}] - added
${SAVE_OPEN}${saveAge(lists, frame)}
${addCounts('added', 'duplicate')}
${RECORDED}
${reply(lists, 'answers')}`,
  };
}

function readScript(
  verb: string,
  lists: AgedLists,
  of: readonly Of[],
  answer: (shape: LayerShape) => string,
): Script {
  const visit = (list: Of) =>
    passes(lists, list, READ, (shape) => ({
      item: `${judgeItem(shape)}
      if live and not ${list === 'own' ? 'gone' : 'syncGone'}[n] then out[n], left = ${answer(shape)}, left - 1 end`,
    }));
  return {
    name: scriptName(verb, lists),
    numberOfKeys: 2,
    moreKeys: true,
    lua: `${checkSegment(...fieldsOf(lists))}${openKeys(lists, READ)}${NOW}${openAge(lists, READ)}
local out, left = {}, count
local passes = {${of.map(visit).join('\n')}
}
${of.map((list) => through(lists, list, 'passes', 'left')).join('\n')}
for n = 1, count do out[n] = out[n] or '0' end
${reply(lists, 'concat(out, "", 1, count)')}`,
  };
}

const listsOf = ({ sync }: AgedLists): Of[] => (sync ? ['own', 'sync'] : ['own']);

/** check. */
export function checkAgedScript(lists: AgedLists): Script {
  return readScript('Check', lists, listsOf(lists), () => "'1'");
}

/** count: in the oldest layer that claims an item. */
export function countAgedScript(lists: AgedLists): Script {
  return readScript('Count', lists, listsOf(lists), (shape) => `char(48 + ${leastAged(shape)})`);
}

/** As checkAgedScript, of the second list alone. */
export function listedAgedScript(lists: AgedLists): Script {
  return readScript('Listed', lists, ['sync'], () => "'1'");
}

/**
 * remove, from both lists. The verb says how many removals may be noted during a sync, and the one behind it how many items may be
 * hidden. The word FULL, with how many are: more might have to be. Beyond the bound on removals the sync is over, as `full` in meta
 * says.
 */
export function removeAgedScript(lists: AgedLists, queued: boolean): Script {
  const frame = changeFrame(lists, queued);
  const { hiddenAt } = frame;
  const { sync } = lists;
  const lower = (of: Of, key: number, names: Record<'out' | 'left' | 'gone', string>) =>
    passes(lists, of, frame, (shape, place) => ({
      out: names.out,
      before: `local saturated, ring = 0, nil`,
      item: `${judgeItem(shape)}
      if live and (${names.gone}[n] or nowHidden[${key} .. hashes[n]]) then
        ${names.out}[n], ${names.left} = '0', ${names.left} - 1
      elseif live then${cleanItem(shape, pageBytesAt(lists, place))}
        local rest, emptied = ${restOf(shape)}, false
        ring = ring or ringOf(${place})
        ${lowerAged(shape)}
        ${writeAged(shape)}
        dirty[${place}] = true
        if not emptied then
          nowHidden[${key} .. hashes[n]] = true
          call('ZADD', KEYS[${key}], string.format('%.0f', epoch + rest), hashes[n])
        end
        ${names.out}[n], ${names.left} = '1', ${names.left} - 1
      end`,
      after: `if dirty[${place}] then stored[${place}] = itemsIn(${place}) end
  if saturated ~= 0 then call('HINCRBY', meta, '${metaName(lists, place, 'saturated')}', saturated) end`,
    }));
  const count = (of: Of, key: number, gone: string) => `
  do
    local hidden = call('ZCOUNT', KEYS[${key}], string.format('%.0f', epoch), '+inf')
    if hidden + count > most then
      local seen, seenLeft, found = {}, count, {}
      local claiming = {${claim(lists, of, frame, { done: 'seen', left: 'seenLeft', found: 'found', gone })}
      }
      ${through(lists, of, 'claiming', 'seenLeft')}
      local claimed = hidden
      for _ in pairs(found) do claimed = claimed + 1 end
      if claimed > most then return redis.status_reply('FULL ' .. hidden) end
    end
  end`;
  return {
    name: scriptName(queued ? 'RemoveQueued' : 'Remove', lists),
    numberOfKeys: queued ? 12 : 4,
    moreKeys: true,
    lua: `${ALLOW_OOM}${head(lists, queued)}${openKeys(lists, frame)}${RECALL}${openAge(lists, frame)}${CLEAN}
local most, nowHidden = tonumber(ARGV[${CHANGE.more}]), {}
hashesOf()
${count('own', hiddenAt, 'gone')}${sync ? count('sync', hiddenAt + 1, 'syncGone') : ''}
${
  queued
    ? `${openLine(FORGET)}
local marked, clock = {}, string.format('%.0f', line.clock)`
    : ''
}
local out, left = {}, count
local lowering = {${lower('own', hiddenAt, { out: 'out', left: 'left', gone: 'gone' })}
}
${through(lists, 'own', 'lowering', 'left')}
${
  sync
    ? `local second, secondLeft = {}, count
local lowering2 = {${lower('sync', hiddenAt + 1, { out: 'second', left: 'secondLeft', gone: 'syncGone' })}
}
${through(lists, 'sync', 'lowering2', 'secondLeft')}
local unkept = 0
for n = 1, count do
  if out[n] == '1' and second[n] == '1' then unkept = unkept - 1 end
  if out[n] ~= '1' then out[n] = second[n] end
end
unkept = math.max(unkept, -tonumber(call('HGET', meta, '${SYNC}kept') or 0))
${addSyncCount('kept', 'unkept')}
local removedKey = KEYS[${hiddenAt + 2}]${noteRemovals(CHANGE.verb)}`
    : ''
}
local removed, refused = 0, 0
for n = 1, count do
  out[n] = out[n] or '0'
  if out[n] == '1' then
    removed = removed + 1
    ${queued ? 'marked[2 * removed - 1], marked[2 * removed] = hashes[n], clock' : ''}
  else
    refused = refused + 1
  end
end
${queued ? 'local sweep = removed > 0 and line.mark(marked) or 0' : ''}
local answers = concat(out, '', 1, count)
${saveAge(lists, frame)}
${addCounts('removed', 'refused')}
${RECORDED}
${reply(lists, 'answers', queued ? 'sweep' : '0')}`,
  };
}

/**
 * keep. The verb: for how many ms new items live; '0' if the items are from the queue, of which only live ones are kept.
 * Behind it: when items that were new at the opening expire, in ms. An item in the own list keeps the time that it has left.
 * An item that only the second list claims lives for a whole age since the opening at least: it was listed before, and has at
 * least that time; or it is a false positive. The word ENDED: more removals were made than could be noted.
 */
export function keepAgedScript(lists: AgedLists): Script {
  const frame = changeFrame(lists, false);
  const { hiddenAt } = frame;
  const { own, sync } = lists;
  const last = own.length + (sync?.layers.length ?? 0) - 1;
  const names = {
    done: 'done',
    left: 'left',
    fresh: 'fresh',
    gone: 'syncGone',
    only: 'nothing',
    shown: 'shown',
    lasts: 'lasts[n]',
  };
  return {
    name: scriptName('Keep', lists),
    numberOfKeys: 4,
    moreKeys: true,
    lua: `${head(lists, false)}${openKeys(lists, frame)}${RECALL}${openAge(lists, frame)}${CLEAN}${SHARES(lists)}${LASTING}
local removedKey, opened, syncOpened, nothing = KEYS[${hiddenAt + 2}], open, syncOpen, {}
if call('HEXISTS', meta, '${SYNC}full') == 1 then return redis.status_reply('ENDED') end
local away, left = {}, count
hashesOf()
if count > 0 and call('HLEN', removedKey) > 1 then
  local found = call('HMGET', removedKey, unpack(hashes))
  for n = 1, count do away[n] = found[n] and true or nil end
end
local seen, seenLeft, owned = {}, count, {}
local claiming = {${claim(lists, 'own', frame, { done: 'seen', left: 'seenLeft', found: 'owned', gone: 'gone' })}
}
${through(lists, 'own', 'claiming', 'seenLeft')}
local done, fresh, shown, lasts, counted, unknown = {}, {}, {}, {}, ARGV[${CHANGE.verb}] ~= '0', 0
for n = 1, count do
  if away[n] or not counted and not owned[n] then
    done[n], left = true, left - 1
  elseif not owned[n] then
    unknown = unknown + 1
  end
end
local full, found = ARGV[${CHANGE.syncGrows}] == '1' and left > room(${own.length} + syncOpen, ${last}), {}
if full or unknown > 0 then
  local listed, listedLeft = {}, count
  local listing = {${claim(lists, 'sync', frame, { done: 'listed', left: 'listedLeft', found: 'found', gone: 'nothing' })}
  }
  ${through(lists, 'sync', 'listing', 'listedLeft')}
end
local function lastsUntil(at) return math.max(0, min(${EPOCHS_OF_AGE}, math.floor(at / epochMs) - epoch)) end
local whole = lastsUntil(math.max(now, epoch * epochMs) + ARGV[${CHANGE.verb}])
local again = lastsUntil(tonumber(ARGV[${CHANGE.more}]))
for n = 1, count do
  lasts[n] = owned[n] or found[n] and not syncGone[n] and again or whole
end
if full then
  local new = left
  for n in pairs(found) do if not done[n] then new = new - 1 end end
  if new > room(${own.length} + syncOpen, ${last}) then return redis.status_reply('GROWSYNC') end
end
local keeping = {${addTo(lists, 'sync', frame, names)}
}
${through(lists, 'sync', 'keeping', 'left', 'last')}
${show(hiddenAt + 1, 'shown')}
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
local answers = concat(out, '', 1, count)
if not counted then listed, new = 0, 0 end
${addSyncCount('kept', 'known')}
${addSyncCount('listed', 'listed')}
${addSyncCount('new', 'new')}
${SAVE_OPEN}${saveAge(lists, frame)}
${RECORDED}
${reply(lists, 'answers')}`,
  };
}
