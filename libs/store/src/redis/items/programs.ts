import { EPOCHS_OF_AGE } from '../../age.js';
import { bringBack, LEASES, MARKS, MOVE_DUE, openQueueToChange } from '../scripts/queue-state.js';
import {
  addCounts,
  ALLOW_OOM,
  checkSegment,
  END_OF_LIST,
  NOW,
  RECALL,
  RECORD,
  type Script,
  SYNC,
} from '../scripts/script.js';
import { tooManyMarks } from '../scripts/sweep.js';
import { hiddenKeyOf } from './aged-cells.js';
import { Frame, type ItemTask, type LayerShape, type ListName, NAMES, type Verb } from './frame.js';
import { headBytes } from './packed-cells.js';
import { addTo, answered, claims, kindOf, visit } from './passes.js';

/** A script and the frame by which its calls are packed. */
export interface ItemProgram {
  readonly frame: Frame;
  readonly script: Script;
}

/**
 * The scripts on the items of a batch in one segment: four programs over lists x layers x kind of cells. A script gets
 * the items once for each layer that the caller knows. meta says which layer of a list is `open` in the segment, by
 * number from 0; older ones are closed, and newer ones have nothing of the segment yet. During a sync the segment has a
 * second list, which the sync fills.
 *
 * A reply is {one character an item, items of the first layer, 1 if it is time for a step of a sweep, the open layer,
 * items of the other layers}. During a sync END_OF_LIST, the open layer and the items of the second list follow. Or the
 * reply is one of these words as a status, and nothing was changed:
 *
 *   LOST, REUSED, EXPIRED   see scripts/script.ts
 *   GROW, GROWSYNC          the filter's own list, or that of the sync, needs a layer that the caller does not know
 *   UNMADE n                keys of layer n, which has no items of the segment, are missing after a failover
 *   ENDED                   there were more removals than the sync can note, so it keeps no more items
 *   FULL n                  n items are hidden, and the removal might have to hide more than allowed
 */
export function itemProgram(task: ItemTask): ItemProgram {
  const frame = new Frame(task);
  const text = { add, remove, keep, check: read, count: read, listed: read }[task.verb](frame);
  return {
    frame,
    script: {
      name: nameOf(task),
      numberOfKeys: frame.changes ? (task.queued ? 12 : 4) : 2,
      moreKeys: true,
      lua: text.replace(/\n\s*(?=\n)/g, ''),
    },
  };
}

function nameOf({ verb, lists, queued, multiset }: ItemTask): string {
  const shapes = (layers: readonly LayerShape[]): string =>
    layers
      .map(({ hashes, wide, split, pageBytes }) =>
        [hashes, wide ? 'w' : 'n', split ? 's' : '', pageBytes ?? ''].join(''),
      )
      .join('.');
  const flags = [queued ? 'Queued' : '', multiset ? 'Multiset' : ''].join('');
  return `unseenItems:${verb}${flags}:${shapes(lists.own)}${lists.sync ? `-${shapes(lists.sync)}` : ''}`;
}

/** First lines: the segment, its keys, and the open layers. */
function head(frame: Frame): string {
  const { keys, places, task } = frame;
  const hasSync = frame.has('sync');
  const assertThere = [
    ...(task.ages ? frame.lists.map((list) => `call('ZCARD', ${hiddenKeyOf(frame, list)}) == 0`) : []),
    ...(frame.changes && hasSync ? [`call('HLEN', KEYS[${keys.removed}]) == 0`] : []),
  ];
  const pieces = places
    .filter((place) => frame.hasKeys(place))
    .map((place) => {
      const [bytes, count] = [frame.layerArg(place, 'bytes'), frame.layerArg(place, 'keys')];
      return `piece(${place.place}, tonumber(${bytes}), tonumber(${count}), ${place.layer} > ${NAMES[place.list].open})`;
    });
  return `${checkSegment(...frame.fields)}
${assertThere.length > 0 ? `if ${assertThere.join(' or ')} then return redis.status_reply('LOST') end` : ''}
${frame.lists.map((list) => `local ${NAMES[list].open} = tonumber(${frame.field(`${NAMES[list].prefix}open`)} or 0)`).join('\n')}
${
  pieces.length > 0
    ? `local firstKey, nextKey = {}, ${keys.pieces}
local function piece(place, bytes, keys, mayLack)
  firstKey[place] = nextKey
  for n = nextKey, nextKey + keys - 1 do
    local size = call('STRLEN', KEYS[n])
    if size ~= bytes then return size == 0 and mayLack and 'UNMADE ' .. place or 'LOST' end
  end
  nextKey = nextKey + keys
end
local fault = ${pieces.join('\n  or ')}
if fault then return redis.status_reply(fault) end`
    : ''
}
${frame.lists.map((list) => `if ${NAMES[list].open} >= ${frame.listed(list).length} then return redis.status_reply('${NAMES[list].grow}') end`).join('\n')}`;
}

/** Behind the head, and behind RECALL in a change: the variables of the batch, and of the kind of cells. */
const open = (frame: Frame): string => `
local count = tonumber(${frame.arg('count')})
${
  frame.needs('hashes')
    ? `local hashes = {}
local function hashesOf()
  if #hashes == 0 then
    for n = 1, count do hashes[n] = sub(${frame.arg('hashes')}, n * 16 - 15, n * 16) end
  end
  return hashes
end`
    : ''
}${kindOf(frame).open(frame)}`;

/**
 * Each layer's share of items in this segment, by its place, and `room`: how many more items a range of layers takes.
 */
const shares = (frame: Frame): string => `
local shares = {${frame.places
  .map((place) => `${place.place === 0 ? '[0] = ' : ''}tonumber(${frame.layerArg(place, 'share')})`)
  .join(', ')}}
local function room(from, last)
  local sum = 0
  for place = from, last do sum = sum + math.max(0, shares[place] - stored[place]) end
  return sum
end`;

/** The layers of a list from its open one on, as Lua: for \`room\`. */
function openRange(frame: Frame, list: ListName): string {
  const places = frame.listed(list);
  const first = places[0]?.place ?? 0;
  return `${first} + ${NAMES[list].open}, ${first + places.length - 1}`;
}

/** Opens the queue. A script may have 200 local variables at a time, so those of the queue are behind one of them. */
const openLine = (frame: Frame, parts: string): string =>
  frame.task.queued
    ? `
local line
do
${openQueueToChange(String(frame.has('sync')))}${parts}
line = queue
end`
    : '';

/** Queues the new items, in the order of the batch. Entries that are due come into line before them. */
const queueNew = (frame: Frame): string =>
  frame.task.queued
    ? `
if added > 0 then
  local entries, payloads, p = {}, ${frame.arg('payloads')}, 1
  local head = struct.pack('>I4I6I4', 0, line.clock + 1, math.floor(now / 1000))
  for n = 1, count do
    local a1, a2, a3, a4 = byte(payloads, p + 16, p + 19)
    local next = p + 20 + ((a1 * 256 + a2) * 256 + a3) * 256 + a4
    if out[n] == '1' then entries[#entries + 1] = head .. sub(payloads, p, next - 1) end
    p = next
  end
  line.moveDue()
  line.append(entries)
  line.set('clock', line.clock + 1)
  line.save()
end`
    : '';

/**
 * `queue.mark`: marks items as forgotten if the queue has any entry. It takes the hash of each item with the clock
 * behind it, and returns 1 if it is time for a step of a sweep, else 0.
 */
const mark = (maxMarks: string): string => `
function queue.mark(marks)
  if queue.waiting + queue.leased + queue.later + queue.letterCount == 0 then return 0 end
  queue.set('marked', queue.marked + call('HSET', queue.marks, unpack(marks)))
  queue.save()
  return (queue.sweeping == 1 or ${tooManyMarks(maxMarks)}) and 1 or 0
end
`;

const markRemoved = (frame: Frame): string =>
  frame.task.queued
    ? `
if removed > 0 then
  local marks, clock = {}, string.format('%.0f', line.clock)
  hashesOf()
  for n = 1, count do
    if out[n] == '1' then marks[#marks + 1], marks[#marks + 2] = hashes[n], clock end
  end
  sweep = line.mark(marks)
end`
    : '';

const saveOpen = (frame: Frame): string =>
  frame.lists
    .map((list) => {
      const { open: name, prefix } = NAMES[list];
      const before = frame.field(`${prefix}open`);
      return `if ${name} ~= tonumber(${before} or 0) then call('HSET', meta, '${prefix}open', ${name}) end`;
    })
    .join('\n');

const addSyncCounts = (counts: Readonly<Record<string, string>>): string =>
  Object.entries(counts)
    .map(([name, value]) => `if ${value} ~= 0 then call('HINCRBY', meta, '${SYNC}${name}', ${value}) end`)
    .join('\n');

/** Last lines of a change: they write the counts and the record of the answers. */
const end = (frame: Frame, ...counts: readonly string[]): string => `
local answers = concat(out, '', 1, count)
${frame.task.verb === 'remove' ? '' : saveOpen(frame)}
${kindOf(frame).save(frame)}
${addCounts(...counts)}
${RECORD}
${reply(frame, 'answers', frame.task.verb === 'remove' ? 'sweep' : '0')}`;

function reply(frame: Frame, answers: string, sweep = '0'): string {
  const stored = (list: ListName): string[] => frame.listed(list).map(({ place }) => `stored[${place}]`);
  const [first = '', ...later] = stored('own');
  const ofSync = frame.has('sync') ? [String(END_OF_LIST), NAMES.sync.open, ...stored('sync')] : [];
  return `return {${[answers, first, sweep, NAMES.own.open, ...later, ...ofSync].join(', ')}}`;
}

/**
 * See Counters.add. An item that the list of the sync claims is not new: without ages nothing of it changes, and if the
 * filter ages it lives longer in each list that claims it.
 */
function add(frame: Frame): string {
  const { ages } = frame.task;
  const sync = frame.has('sync');
  return `${head(frame)}${RECALL}${open(frame)}${shares(frame)}
${ages ? `local lifetime = min(${EPOCHS_OF_AGE}, math.floor((math.max(now, epoch * epochMs) + ${frame.arg('lives')}) / epochMs) - epoch)` : ''}
${sync ? `local listed, unlisted = {}, count` : 'local unlisted = count'}
${
  sync && ages
    ? `-- In the list of the sync an item lives at least as long as it has left in the own one.
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
${roomForNew(frame)}
${
  sync
    ? `if ${frame.arg('syncGrows')} == '1' and unlisted > room(${openRange(frame, 'sync')}) then
  return redis.status_reply('GROWSYNC')
end`
    : ''
}${openLine(frame, frame.task.queued ? `${MARKS}${bringBack(frame.arg('attempts'))}${LEASES}${MOVE_DUE}` : '')}
local out, left, added = {}, count, 0
${
  sync && !ages
    ? `for n = 1, count do
  if listed[n] then out[n], left = '0', left - 1 end
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
${addTo(frame, 'sync', {
  ...{ skip: 'inSync', left: 'toKeep', lasts: 'math.max(lifetime, owned[n] or 0)' },
  then: (isNew) => `if ${isNew} then freshCount = freshCount + 1 end
        ${answered(frame, { skip: 'inSync', left: 'toKeep' }, 'true')}`,
})}
if count > 0 and call('HLEN', KEYS[${frame.keys.removed}]) > 1 then
  call('HDEL', KEYS[${frame.keys.removed}], unpack(hashesOf()))
end
${addSyncCounts({ kept: 'freshCount' })}`
    : ''
}${queueNew(frame)}
local duplicate = count + ${frame.arg('copies')} - added
${end(frame, 'added', 'duplicate')}`;
}

/**
 * If the own list may grow, and its known layers may be too small for the batch: counts the new items. Copies count
 * once: they have the same text in the first layer's packed items. A hidden item counts as new.
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
      if not found[n]${frame.has('sync') ? ' and not listed[n]' : ''} and not asked[item] then asked[item], free = true, free - 1 end
      at = next
    end
    if free < 0 then return redis.status_reply('GROW') end
  end
end`;

/** See Counters.remove: from both lists. If it notes more removals than allowed, `full` in meta ends the sync. */
function remove(frame: Frame): string {
  const sync = frame.has('sync');
  const kind = kindOf(frame);
  const lower = (list: ListName, out: string, left: string): string =>
    visit(frame, list, {
      ...{ skip: out, left },
      before: (place) => kind.locals(place),
      item: (place) => `${kind.claim(place.shape)}
      if live then${kind.lower(frame, place)}
        ${answered(frame, { skip: out, left }, 'moved')}
      end`,
      after: (place) => kind.account(frame, place),
    });
  return `${ALLOW_OOM}${head(frame)}${RECALL}${open(frame)}
${frame.task.ages ? roomToHide(frame) : ''}${openLine(frame, frame.task.queued ? mark(frame.arg('maxMarks')) : '')}
local out, left, sweep = {}, count, 0
${lower('own', 'out', 'left')}
${
  sync
    ? `local second, secondLeft, unkept = {}, count, 0
${lower('sync', 'second', 'secondLeft')}
for n = 1, count do
  local wasOwned = out[n] and out[n] ~= '0'
  if wasOwned and second[n] == '1' then unkept = unkept - 1 end
  if not wasOwned then out[n] = second[n] end
end
unkept = math.max(unkept, -tonumber(call('HGET', meta, '${SYNC}kept') or 0))
${addSyncCounts({ kept: 'unkept' })}
if count > 0 and call('HEXISTS', meta, '${SYNC}full') == 0 then
  local noted = {}
  hashesOf()
  for n = 1, count do noted[2 * n - 1], noted[2 * n] = hashes[n], '' end
  call('HSET', KEYS[${frame.keys.removed}], unpack(noted))
  if call('HLEN', KEYS[${frame.keys.removed}]) - 1 > tonumber(${frame.arg('maxNoted')}) then call('HSET', meta, '${SYNC}full', '1') end
end`
    : ''
}
local removed = 0
for n = 1, count do
  out[n] = out[n] or '0'
  if out[n] == '1' then removed = removed + 1 end
end
local refused = count - removed
${markRemoved(frame)}
${end(frame, 'removed', 'refused')}`;
}

/** Refuses a removal from a filter that ages if it might hide more items than allowed. */
const roomToHide = (frame: Frame): string =>
  frame.lists
    .map(
      (list) => `
do
  local hidden, most = call('ZCOUNT', ${hiddenKeyOf(frame, list)}, string.format('%.0f', epoch), '+inf'), tonumber(${frame.arg('maxHidden')})
  if hidden + count > most then
    local found, claimed = {}, hidden
    ${claims(frame, list, 'found')}
    for _ in pairs(found) do claimed = claimed + 1 end
    if claimed > most then return redis.status_reply('FULL ' .. hidden) end
  end
end`,
    )
    .join('');

/**
 * Keeps listed items, or entries of the queue, in the list of the sync. An item in the own list keeps the time that it
 * has left. An item that only the sync's list claims lives for at least a whole age from the opening of the sync: it
 * was listed before, and has that time already, or it is a false positive. If the filter ages, expired entries of the
 * queue are not kept.
 */
function keep(frame: Frame): string {
  const { ages } = frame.task;
  const removedKey = `KEYS[${frame.keys.removed}]`;
  return `${head(frame)}${RECALL}${open(frame)}${shares(frame)}
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
${addSyncCounts({ kept: 'known', listed: 'listed', new: 'new' })}
${end(frame)}`;
}

/** The lists that a verb reads, and the order of their layers. */
const READS: Readonly<
  Record<
    Exclude<Verb, 'add' | 'remove' | 'keep'>,
    { lists: ListName[]; order: 'oldest first' | 'newest first' }
  >
> = {
  check: { lists: ['own', 'sync'], order: 'newest first' },
  // The oldest layer that claims an item has its count. Newer ones claim it only as a false positive.
  count: { lists: ['own', 'sync'], order: 'oldest first' },
  listed: { lists: ['sync'], order: 'newest first' },
};

/** See Counters.check and count. `listed` reads only the list of the sync. */
function read(frame: Frame): string {
  const { verb, ages } = frame.task;
  const kind = kindOf(frame);
  const { lists, order } = READS[verb as keyof typeof READS];
  const passes = lists
    .filter((list) => frame.has(list))
    .map((list) =>
      visit(frame, list, {
        ...{ skip: 'out', left: 'left', order },
        item: ({ shape }) => `${kind.claim(shape)}
      if live${ages ? ` and not ${NAMES[list].gone}[n]` : ''} then
        ${answered(frame, { skip: 'out', left: 'left' }, verb === 'count' ? `char(48 + ${kind.least(shape)})` : "'1'")}
      end`,
      }),
    );
  return `${head(frame)}${ages ? NOW : ''}${open(frame)}
local out, left = {}, count
${passes.join('\n')}
for n = 1, count do out[n] = out[n] or '0' end
${reply(frame, "concat(out, '', 1, count)")}`;
}
