import { leastCell, lowerCells, raiseCells, someZero, writeItem } from './cells.js';
import { FORGET, openLine } from './items.js';
import {
  changePlaces,
  checkPieces,
  claims,
  countLayer,
  countOf,
  type CountName,
  firstWithArgs,
  growthFields,
  LAYER_ARGS,
  type LayerShape,
  nameOf,
  pass,
  passThrough,
  QUEUE_NEW,
} from './layers.js';
import { bringBack, LEASES, MARKS, MOVE_DUE, QUEUE_FIELD } from './queue-state.js';
import { addCounts, ALLOW_OOM, checkSegment, RECALL, RECORD, RECORD_FIELDS, type Script } from './script.js';

/*
 * The scripts over a packed batch in a segment that takes part in a sync: it has two lists of layers, the filter's own and the
 * one that the sync fills. A script gets the items once for each layer of both. The places of the second list's layers follow those
 * of the own ones, as do their LAYER_ARGS. What meta has of the second list is named as of the own one, with SYNC in front.
 *
 * Scripts that change get the key of noted removals in front of those of the pieces. They answer, beside the words of
 * scripts/layers.ts, GROWSYNC if the second list needs a layer that the caller does not know. A reply has END_OF_LIST behind the items
 * of the own layers, and then the same of the second list: the open layer, and the items of each.
 */
export interface Lists {
  readonly own: readonly LayerShape[];
  readonly sync: readonly LayerShape[];
}

/** In front of the names of the second list's counts. */
export const SYNC = 's:';

/** No number of items. */
export const END_OF_LIST = -1;

const syncName =
  (layer: number): CountName =>
  (count) =>
    SYNC + countOf(count, layer);

interface Frame {
  readonly keysAt: number;
  /** Of a script that changes: the key of noted removals. */
  readonly removedAt?: number;
  readonly argsAt: number;
  /** In `kept`, where the own open layer is. */
  readonly fieldAt: number;
  /** ARGV of the number of items; that of the values of a cell is the next. */
  readonly count: number;
  readonly packed: number;
}

const scriptName = (verb: string, lists: Lists) =>
  `${nameOf(`Synced${verb}`, lists.own)}-${nameOf('', lists.sync)}`;

/** What is read of meta of both lists. */
const fieldsOf = ({ own, sync }: Lists) => [
  ...growthFields(own.length),
  `'${SYNC}open'`,
  ...sync.map((_, layer) => `'${syncName(layer)('items')}'`),
];

/** First lines, behind checkSegment: where the keys are, what is stored in each layer, and the batch. */
function openLists(lists: Lists, { keysAt, argsAt, fieldAt, count, removedAt }: Frame): string {
  const { own, sync } = lists;
  const syncAt = fieldAt + own.length;
  const pieces = checkPieces({
    ...{ open: `kept[${fieldAt}]`, keysAt, argsAt, args: LAYER_ARGS, first: firstWithArgs(own) },
    mayLack: `(place < ${own.length} and place > open or place - ${own.length} > syncOpen)`,
  });
  const assertNoted =
    removedAt === undefined
      ? ''
      : `if call('HLEN', KEYS[${removedAt}]) == 0 then return redis.status_reply('LOST') end`;
  return `
${assertNoted}
local syncOpen = tonumber(kept[${syncAt}] or 0)
${pieces}
if open >= ${own.length} then return redis.status_reply('GROW') end
if syncOpen >= ${sync.length} then return redis.status_reply('GROWSYNC') end
local stored = {[0] = tonumber(kept[2])}
for layer = 1, ${own.length - 1} do stored[layer] = tonumber(kept[${fieldAt} + layer] or 0) end
for layer = 0, ${sync.length - 1} do stored[${own.length} + layer] = tonumber(kept[${syncAt + 1} + layer] or 0) end
local count, values = tonumber(ARGV[${count}]), tonumber(ARGV[${count + 1}])`;
}

/** An element of a table of passes for each layer of a list. */
function passes(
  lists: Lists,
  of: keyof Lists,
  { argsAt, packed }: Frame,
  visit: (shape: LayerShape, layer: number, place: number) => Parameters<typeof pass>[3],
): string {
  const places = { argsAt, packed, first: firstWithArgs(lists.own) };
  const from = of === 'own' ? 0 : lists.own.length;
  return lists[of]
    .map((shape, layer) => pass(places, shape, from + layer, visit(shape, layer, from + layer)))
    .join('\n');
}

/** Runs the passes of a list, up to its open layer. */
const through = ({ own }: Lists, of: keyof Lists, name: string, left: string, newestFirst = false) => {
  const [from, last] = of === 'own' ? ['0', 'open'] : [String(own.length), `${own.length} + syncOpen`];
  return newestFirst ? passThrough(name, last, from, -1, left) : passThrough(name, from, last, 1, left);
};

/** The share of each layer of items in this segment, by its place. `ownShare` is the ARGV of the first's. */
const sharesOf = ({ own }: Lists, argsAt: number, ownShare: number) => `
local shares, at = {[0] = tonumber(ARGV[${ownShare}])}, ${firstWithArgs(own)}
for arg = ${argsAt}, #ARGV, ${LAYER_ARGS} do
  shares[at], at = tonumber(ARGV[arg + 2]), at + 1
end`;

/** Room in the layers from `from` to `last`, as `room`. */
const roomFrom = (from: string, last: number) => `
  local room = 0
  for layer = ${from}, ${last} do room = room + math.max(0, shares[layer] - stored[layer]) end`;

/** Stores what no own layer claims in the open one; `out` has the answers. */
const addToOwn = (lists: Lists, frame: Frame) =>
  passes(lists, 'own', frame, ({ hashes: k }, layer) => {
    const last = layer === lists.own.length - 1;
    return {
      before: `local size, share, nonzero, saturated = stored[${layer}], shares[${layer}], 0, 0`,
      item: `local fresh = ${someZero(k)}
      ${last ? '' : `if fresh and open == ${layer} and size >= share then open = ${layer + 1} end`}
      if not fresh or open == ${layer} then
        if fresh then
          size, added = size + 1, added + 1
    ${raiseCells(k)}
          ${writeItem(k)}
        end
        out[n], left = fresh and '1' or '0', left - 1
      end`,
      after: countLayer(layer, (count) => countOf(count, layer), 'nonzero', 'saturated'),
    };
  });

/** Stores the items without a mark in `marked` in the second list, unless that claims them; `fresh` has those that it did not. */
const addToSync = (lists: Lists, frame: Frame) =>
  passes(lists, 'sync', frame, ({ hashes: k }, layer, place) => {
    const last = layer === lists.sync.length - 1;
    return {
      out: 'marked',
      before: `local size, share, nonzero, saturated = stored[${place}], shares[${place}], 0, 0`,
      item: `local unclaimed = ${someZero(k)}
      ${last ? '' : `if unclaimed and syncOpen == ${layer} and size >= share then syncOpen = ${layer + 1} end`}
      if not unclaimed or syncOpen == ${layer} then
        if unclaimed then
          size, fresh[n], freshCount = size + 1, true, freshCount + 1
    ${raiseCells(k)}
          ${writeItem(k)}
        end
        marked[n], unmarked = true, unmarked - 1
      end`,
      after: countLayer(place, syncName(layer), 'nonzero', 'saturated'),
    };
  });

const claimedBy = (lists: Lists, of: keyof Lists, frame: Frame, out: string, left: string) =>
  passes(lists, of, frame, (shape) => claims(shape, 'true', out, left));

/** `hashes[n]`: the items' hashes. */
const HASHES = (arg: number) => `
local hashes = {}
for n = 1, count do hashes[n] = sub(ARGV[${arg}], n * 16 - 15, n * 16) end`;

const SAVE_OPEN = `
if open ~= opened then call('HSET', meta, 'open', open) end
if syncOpen ~= syncOpened then call('HSET', meta, '${SYNC}open', syncOpen) end`;

const addSyncCount = (name: string, value: string) =>
  `if ${value} ~= 0 then call('HINCRBY', meta, '${SYNC}${name}', ${value}) end`;

/**
 * Notes the items as removed since the sync was opened. With more than ARGV[most] the sync is over, as `full` in meta says,
 * and no more are noted: the script also runs when the server is at its memory limit.
 */
export const noteRemovals = (most: number) => `
if count > 0 and call('HEXISTS', meta, '${SYNC}full') == 0 then
  local noted = {}
  for n = 1, count do noted[2 * n - 1], noted[2 * n] = hashes[n], '' end
  call('HSET', removedKey, unpack(noted))
  if call('HLEN', removedKey) - 1 > tonumber(ARGV[${most}]) then call('HSET', meta, '${SYNC}full', '1') end
end`;

function reply({ own, sync }: Lists, answers: string, sweep = '0'): string {
  const stored = (from: number, layers: number) =>
    Array.from({ length: layers }, (_, n) => `stored[${from + n}]`);
  const ofOwn = [answers, 'stored[0]', sweep, 'open', ...stored(1, own.length - 1)];
  return `return {${[...ofOwn, END_OF_LIST, 'syncOpen', ...stored(own.length, sync.length)].join(', ')}}`;
}

const head = (lists: Lists, queued: boolean) =>
  checkSegment(...RECORD_FIELDS, ...(queued ? [`'${QUEUE_FIELD}'`] : []), ...fieldsOf(lists));

/**
 * The keys of a script that changes: behind those of all changes, the entries owed to the copy of the queue, if the script has
 * the queue, and the noted removals.
 */
function changeFrame(queued: boolean, argsAt: number, packed: number) {
  const { keysAt, fieldAt } = changePlaces(queued);
  const removedAt = queued ? keysAt + 1 : keysAt;
  return { removedAt, keysAt: removedAt + 1, fieldAt, argsAt, count: 9, packed };
}

/**
 * add. ARGV: as addLayersScript to 16; 17 '1' if the second list may have more layers than these, 18 the items' hashes;
 * 19 and on, those of the layers. What the second list claims is not new, and changes nothing.
 */
export function addSyncedScript(lists: Lists, queued: boolean): Script {
  const { own, sync } = lists;
  const frame = changeFrame(queued, 19, 12);
  const claimOwn = passes(lists, 'own', frame, (shape) => claims(shape, "'1'"));
  return {
    name: scriptName(queued ? 'AddQueued' : 'Add', lists),
    numberOfKeys: queued ? 12 : 4,
    moreKeys: true,
    lua: `${head(lists, queued)}${openLists(lists, frame)}${RECALL}
local removedKey, added, opened, syncOpened = KEYS[${frame.removedAt}], 0, open, syncOpen
${sharesOf(lists, frame.argsAt, 16)}
local marked, unmarked = {}, count
local listing = {${claimedBy(lists, 'sync', frame, 'marked', 'unmarked')}
}
${through(lists, 'sync', 'listing', 'unmarked', true)}
local out, left = {}, unmarked
for n = 1, count do
  if marked[n] then out[n] = '0' end
end
if ARGV[15] == '1' then${roomFrom('open', own.length - 1)}
  if left > room then
    local claiming = {${claimOwn}
    }
    ${through(lists, 'own', 'claiming', 'left')}
    if left > room then return redis.status_reply('GROW') end
    out, left = {}, unmarked
    for n = 1, count do
      if marked[n] then out[n] = '0' end
    end
  end
end
if ARGV[17] == '1' then${roomFrom(`${own.length} + syncOpen`, own.length + sync.length - 1)}
  if unmarked > room then return redis.status_reply('GROWSYNC') end
end
${queued ? openLine(`${MARKS}${bringBack('ARGV[14]')}${LEASES}${MOVE_DUE}`, true) : ''}
local adding = {${addToOwn(lists, frame)}
}
${passThrough('adding', '0', String(own.length - 1), 1)}
local fresh, freshCount = {}, 0
local keeping = {${addToSync(lists, frame)}
}
${passThrough('keeping', String(own.length), String(own.length + sync.length - 1), 1, 'unmarked')}
${queued ? QUEUE_NEW : ''}
if count > 0 and call('HLEN', removedKey) > 1 then
${HASHES(18)}
  call('HDEL', removedKey, unpack(hashes))
end
local answers, duplicate = concat(out, '', 1, count), count + ARGV[11] - added
${SAVE_OPEN}
${addSyncCount('kept', 'freshCount')}
${addCounts('added', 'duplicate')}
${RECORD}
${reply(lists, 'answers')}`,
  };
}

/**
 * remove, from both lists. ARGV: 9 items, 10 values of a cell, 11 packed items, 12 their hashes, 13 as removeScript, 14 how many
 * removals may be noted; 15 and on, those of the layers. Beyond that bound the sync is over, as `full` in meta says.
 */
export function removeSyncedScript(lists: Lists, queued: boolean): Script {
  const frame = changeFrame(queued, 15, 11);
  const lower = (of: keyof Lists, out: string, left: string) =>
    passes(lists, of, frame, ({ hashes: k }, layer, place) => ({
      out,
      before: `local size, nonzero = stored[${place}], 0`,
      item: `if not (${someZero(k)}) then
        local moved, emptied = false, false
    ${lowerCells(k)}
        if moved then
          ${writeItem(k)}
          if emptied then size = math.max(0, size - 1) end
        end
        ${out}[n], ${left} = moved and '1' or '2', ${left} - 1
      end`,
      after: countLayer(place, of === 'own' ? (count) => countOf(count, layer) : syncName(layer), 'nonzero'),
    }));
  return {
    name: scriptName(queued ? 'RemoveQueued' : 'Remove', lists),
    numberOfKeys: queued ? 12 : 4,
    moreKeys: true,
    lua: `${ALLOW_OOM}${head(lists, queued)}${openLists(lists, frame)}${RECALL}
local removedKey = KEYS[${frame.removedAt}]
${HASHES(12)}
${
  queued
    ? `${openLine(FORGET)}
local gone, clock = {}, string.format('%.0f', line.clock)`
    : ''
}
local out, left, second, secondLeft = {}, count, {}, count
local lowering = {${lower('own', 'out', 'left')}${lower('sync', 'second', 'secondLeft')}
}
${through(lists, 'own', 'lowering', 'left')}
${through(lists, 'sync', 'lowering', 'secondLeft')}
local removed, refused, unkept = 0, 0, 0
for n = 1, count do
  if out[n] and second[n] == '1' then unkept = unkept - 1 end
  out[n] = out[n] or second[n] or '0'
  if out[n] == '1' then
    removed = removed + 1${
      queued
        ? `
    gone[2 * removed - 1], gone[2 * removed] = hashes[n], clock`
        : ''
    }
  else
    refused = refused + 1
  end
end
unkept = math.max(unkept, -tonumber(call('HGET', meta, '${SYNC}kept') or 0))
${noteRemovals(14)}
${queued ? 'local sweep = removed > 0 and line.mark(gone) or 0' : ''}
local answers = concat(out)
${addSyncCount('kept', 'unkept')}
${addCounts('removed', 'refused')}
${RECORD}
${reply(lists, 'answers', queued ? 'sweep' : '0')}`,
  };
}

/**
 * keep. ARGV: 9 items, 10 values of a cell, 11 packed items, 12 their hashes, 13 '1' if the second list may have more layers than
 * these, 14 '1' if the items count as listed, else they are of the queue; 15 and on, those of the layers. The word ENDED: more
 * removals were made than could be noted.
 */
export function keepScript(lists: Lists): Script {
  const { own, sync } = lists;
  const frame = changeFrame(false, 15, 11);
  return {
    name: scriptName('Keep', lists),
    numberOfKeys: 4,
    moreKeys: true,
    lua: `${head(lists, false)}${openLists(lists, frame)}${RECALL}
local removedKey, opened, syncOpened = KEYS[${frame.removedAt}], open, syncOpen
if call('HEXISTS', meta, '${SYNC}full') == 1 then return redis.status_reply('ENDED') end
${sharesOf(lists, frame.argsAt, frame.packed)}
local gone, there = {}, count
if count > 0 and call('HLEN', removedKey) > 1 then
${HASHES(12)}
  local found = call('HMGET', removedKey, unpack(hashes))
  for n = 1, count do
    if found[n] then gone[n], there = true, there - 1 end
  end
end
local function ungone()
  local marks = {}
  for n in pairs(gone) do marks[n] = true end
  return marks, there
end
local marked, unmarked = ungone()
if ARGV[13] == '1' then${roomFrom(`${own.length} + syncOpen`, own.length + sync.length - 1)}
  if unmarked > room then
    local listing = {${claimedBy(lists, 'sync', frame, 'marked', 'unmarked')}
    }
    ${through(lists, 'sync', 'listing', 'unmarked', true)}
    if unmarked > room then return redis.status_reply('GROWSYNC') end
    marked, unmarked = ungone()
  end
end
local owned, unowned = ungone()
local claiming = {${claimedBy(lists, 'own', frame, 'owned', 'unowned')}
}
${through(lists, 'own', 'claiming', 'unowned', true)}
local fresh, freshCount = {}, 0
local keeping = {${addToSync(lists, frame)}
}
${passThrough('keeping', String(own.length), String(own.length + sync.length - 1), 1, 'unmarked')}
local out, listed, new, known = {}, 0, 0, 0
for n = 1, count do
  if gone[n] then
    out[n] = '2'
  else
    listed = listed + 1
    local isNew = fresh[n] and not owned[n]
    if isNew then new = new + 1 elseif fresh[n] then known = known + 1 end
    out[n] = isNew and '1' or '0'
  end
end
local answers = concat(out)
if ARGV[14] == '1' then
  ${addSyncCount('listed', 'listed')}
  ${addSyncCount('new', 'new')}
end
${SAVE_OPEN}
${addSyncCount('kept', 'known')}
${RECORD}
${reply(lists, 'answers')}`,
  };
}

/** check: the newest layers first, of the own list and then of the second. ARGV as checkScript; 6 and on, those of the layers. */
export function checkSyncedScript(lists: Lists): Script {
  return readScript('Check', lists, (shape) => claims(shape, `'1'`), true);
}

/** count: in the oldest layer that claims an item, of the own list or else of the second. */
export function countSyncedScript(lists: Lists): Script {
  return readScript('Count', lists, (shape) => claims(shape, `char(48 + ${leastCell(shape.hashes)})`), false);
}

/** As check, of the second list only. */
export function listedScript(lists: Lists): Script {
  return readScript('Listed', lists, (shape) => claims(shape, `'1'`), true, ['sync']);
}

function readScript(
  verb: string,
  lists: Lists,
  visit: (shape: LayerShape) => ReturnType<typeof claims>,
  newestFirst: boolean,
  asked: readonly (keyof Lists)[] = ['own', 'sync'],
): Script {
  const frame = { keysAt: 3, fieldAt: 3, argsAt: 6, count: 3, packed: 5 };
  return {
    name: scriptName(verb, lists),
    numberOfKeys: 2,
    moreKeys: true,
    lua: `${checkSegment(...fieldsOf(lists))}${openLists(lists, frame)}
local out, left = {}, count
local passes = {${passes(lists, 'own', frame, visit)}${passes(lists, 'sync', frame, visit)}
}
${asked.map((list) => through(lists, list, 'passes', 'left', newestFirst)).join('\n')}
for n = 1, count do out[n] = out[n] or '0' end
${reply(lists, 'concat(out)')}`,
  };
}
