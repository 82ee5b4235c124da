import { CYCLE } from '../../age.js';
import { changePlaces, checkPieces, countOf, firstWithArgs, type LayerShape, nameOf } from './layers.js';
import { RECORD_FIELDS } from './script.js';
import { SYNC } from './synced.js';

/*
 * The scripts over a packed batch in a segment of a filter that ages, with one list of layers, or with that which a sync fills, too.
 * They are as those of scripts/layers.ts and scripts/synced.ts, and answer the same, but for this:
 *
 * KEYS behind those of all calls, in brackets those that only a segment in a sync has: [the entries owed to the copy of the
 * queue, if the script has the queue], the hidden items of the own list, [those of the second list, the noted removals],
 * the pieces. ARGV: see CHANGE and READ. A layer has AGED_LAYER_ARGS: the sixth is how many cells it has in this segment.
 * meta has the last epoch in which something was changed, as `epoch`, and of each layer its cells by their last epoch, as `ring`:
 * CYCLE numbers of 4 bytes, in the order of the epochs modulo CYCLE. The number of items follows from it, and is kept as of
 * the last change.
 */
export interface AgedLists {
  /** Bytes of a page of these layers. */
  readonly pageBytes: number;
  readonly own: readonly LayerShape[];
  readonly sync?: { readonly layers: readonly LayerShape[]; readonly pageBytes: number } | undefined;
}

export const AGED_LAYER_ARGS = 6;

/** Where scripts have their KEYS and ARGV. */
export interface Frame {
  readonly hiddenAt: number;
  readonly argsAt: number;
  readonly count: number;
  readonly epochMs: number;
  readonly packed: number;
  readonly hashes: number;
  readonly cells: number;
  readonly fieldAt: number;
}

/**
 * ARGV of a change from 9 on: items, ms of an epoch, packed items, their hashes, payloads or '', attempts after which an entry is dead or
 * marks that are kept, '1' if the own list may have more layers, the share of its first, '1' if the second may have more, what
 * the verb says, and the cells of the first layer; then AGED_LAYER_ARGS.
 */
export const CHANGE = {
  ...{ count: 9, epochMs: 10, packed: 11, hashes: 12, payloads: 13, limit: 14, grows: 15, share: 16 },
  ...{ syncGrows: 17, verb: 18, more: 19, cells: 20, argsAt: 21 },
} as const;

/** ARGV of a call that reads from 3 on: items, ms of an epoch, packed items, hashes, cells of the first layer; then AGED_LAYER_ARGS. */
export const READ = {
  ...{ hiddenAt: 3, fieldAt: 3, count: 3, epochMs: 4, packed: 5, hashes: 6, cells: 7, argsAt: 8 },
} as const;

export const changeFrame = ({ sync }: AgedLists, queued: boolean): Frame => ({
  ...{
    hiddenAt: changePlaces(queued).keysAt + (queued && sync ? 1 : 0),
    fieldAt: 3 + RECORD_FIELDS.length + (queued ? 1 : 0),
  },
  ...CHANGE,
});

export const shapesOf = ({ own, sync }: AgedLists) => [...own, ...(sync?.layers ?? [])];

export const pageBytesAt = ({ own, pageBytes, sync }: AgedLists, place: number) =>
  place < own.length ? pageBytes : (sync?.pageBytes ?? 0);

/** What meta calls a count of the layer at a place. */
export const metaName = ({ own }: AgedLists, place: number, count: 'items' | 'saturated' | 'ring') =>
  place < own.length ? countOf(count, place) : SYNC + countOf(count, place - own.length);

export const scriptName = (verb: string, lists: AgedLists) =>
  `${nameOf(`Aged${verb}`, lists.own)}/${lists.pageBytes}` +
  (lists.sync ? `-${nameOf('', lists.sync.layers)}/${lists.sync.pageBytes}` : '');

export const fieldsOf = (lists: AgedLists) => [
  "'open'",
  "'epoch'",
  ...(lists.sync ? [`'${SYNC}open'`] : []),
  ...shapesOf(lists).map((_, place) => `'${metaName(lists, place, 'ring')}'`),
  ...shapesOf(lists).map((_, place) => `'${metaName(lists, place, 'items')}'`),
];

/** Behind checkSegment: where the keys are, whether they are whole, and which layers are open. */
export function openKeys(lists: AgedLists, { hiddenAt, fieldAt, argsAt }: Frame): string {
  const { own, sync } = lists;
  const pieces = checkPieces({
    ...{ open: `kept[${fieldAt}]`, keysAt: hiddenAt + (sync ? 3 : 1), argsAt, args: AGED_LAYER_ARGS },
    first: firstWithArgs(own),
    mayLack: sync
      ? `(place < ${own.length} and place > open or place - ${own.length} > syncOpen)`
      : 'place > open',
  });
  return `
local syncOpen = ${sync ? `tonumber(kept[${fieldAt + 2}] or 0)` : '0'}
for n = ${hiddenAt}, ${hiddenAt + (sync ? 1 : 0)} do
  if call('ZCARD', KEYS[n]) == 0 then return redis.status_reply('LOST') end
end
${sync ? `if call('HLEN', KEYS[${hiddenAt + 2}]) == 0 then return redis.status_reply('LOST') end` : ''}
${pieces}
if open >= ${own.length} then return redis.status_reply('GROW') end
${sync ? `if syncOpen >= ${sync.layers.length} then return redis.status_reply('GROWSYNC') end` : ''}`;
}

const RING_FORMAT = `'>${'I4'.repeat(CYCLE)}'`;

/** Behind that, with \`now\`: the present, what is stored in each layer, the batch, and which items are hidden, by list. */
export function openAge(
  lists: AgedLists,
  { hiddenAt, fieldAt, count, epochMs, hashes, cells, argsAt }: Frame,
): string {
  const { own, sync } = lists;
  const shapes = shapesOf(lists);
  const ringAt = fieldAt + (sync ? 3 : 2);
  return `
local min, keptEpoch, epochMs = math.min, tonumber(kept[${fieldAt + 1}] or 0), tonumber(ARGV[${epochMs}])
local epoch = math.max(keptEpoch, math.floor(now / epochMs))
local present = struct.pack('<I4', epoch)
local rings, stored, dirty, hashes = {}, {}, {}, {}
local count, cellsIn = tonumber(ARGV[${count}]), {[0] = tonumber(ARGV[${cells}])}
for at = ${argsAt}, #ARGV, ${AGED_LAYER_ARGS} do
  cellsIn[${firstWithArgs(own)} + (at - ${argsAt}) / ${AGED_LAYER_ARGS}] = tonumber(ARGV[at + 5])
end
local perItem = {[0] = ${shapes.map(({ hashes: k }) => k).join(', ')}}
local function ringOf(place)
  local ring = rings[place]
  if not ring then
    local text = kept[${ringAt} + place]
    local slots = text and text ~= '' and {struct.unpack(${RING_FORMAT}, text)}
    ring = {}
    for left = 0, ${CYCLE - 1} do
      ring[left] = slots and epoch + left < keptEpoch + ${CYCLE} and slots[(epoch + left) % ${CYCLE} + 1] or 0
    end
    rings[place] = ring
  end
  return ring
end
local function itemsIn(place)
  local live, cells, ring = 0, cellsIn[place], ringOf(place)
  for left = 0, ${CYCLE - 1} do live = live + ring[left] end
  if live == 0 then return 0 end
  return math.floor(0.5 - cells / perItem[place] * math.log(1 - min(live, cells - 0.5) / cells))
end
for place = 0, ${shapes.length - 1} do
  stored[place] = epoch == keptEpoch and tonumber(kept[${ringAt + shapes.length} + place]) or itemsIn(place)
end
local function hashesOf()
  if #hashes == 0 then
    for n = 1, count do hashes[n] = sub(ARGV[${hashes}], n * 16 - 15, n * 16) end
  end
  return hashes
end
local function hiddenIn(key)
  local gone = {}
  if count == 0 or call('ZCARD', key) == 1 then return gone end
  local until_ = call('ZMSCORE', key, unpack(hashesOf()))
  for n = 1, count do gone[n] = until_[n] and tonumber(until_[n]) >= epoch or nil end
  return gone
end
local gone = hiddenIn(KEYS[${hiddenAt}])
${sync ? `local syncGone = hiddenIn(KEYS[${hiddenAt + 1}])` : ''}`;
}

/** Writes what has changed in the counts by epoch, all of them if another epoch has begun, and lets go of what is hidden no more. */
export function saveAge(lists: AgedLists, { hiddenAt }: Frame): string {
  const names = shapesOf(lists).map(
    (_, place) => `{'${metaName(lists, place, 'ring')}', '${metaName(lists, place, 'items')}'}`,
  );
  return `
local changes = {}
for place, names in ipairs({${names.join(', ')}}) do
  place = place - 1
  if dirty[place] or epoch ~= keptEpoch then
    local slots, ring = {}, ringOf(place)
    for left = 0, ${CYCLE - 1} do slots[(epoch + left) % ${CYCLE} + 1] = ring[left] end
    local n = #changes
    changes[n + 1], changes[n + 2] = names[1], struct.pack(${RING_FORMAT}, unpack(slots))
    changes[n + 3], changes[n + 4] = names[2], string.format('%.0f', stored[place])
  end
end
if #changes > 0 then call('HSET', meta, 'epoch', string.format('%.0f', epoch), unpack(changes)) end
for n = ${hiddenAt}, ${hiddenAt + (lists.sync ? 1 : 0)} do
  if call('ZCARD', KEYS[n]) > 1 then
    local past = call('ZRANGEBYSCORE', KEYS[n], 0, string.format('%.0f', epoch - 1), 'LIMIT', 0, ${MOST_EXPIRED})
    if #past > 0 then call('ZREM', KEYS[n], unpack(past)) end
  end
end`;
}

/** Items that are let go by one script. */
const MOST_EXPIRED = 200;
