import { CYCLE, MOST_BEHIND } from '../../age.js';
import type { CellKind } from './cell-kind.js';
import { type Frame, type LayerShape, NAMES, type Place, type StackName } from './frame.js';
import { each, readItem } from './packed-cells.js';

/*
 * Lua that reads and writes the cells of one item of a filter that ages (../../age.ts). One GETRANGE reads an item,
 * from its page's stamp to its last cell. For cell j, o<j> is the offset in the reply, and v<j> the byte. `epoch` is
 * the current epoch.
 *
 * meta has the epoch of the last change as `epoch`. For each layer, it counts the cells by their last epoch as `ring`:
 * CYCLE numbers of 4 bytes, in the order of the epochs modulo CYCLE. The number of items follows from the ring, and
 * meta has it as of the last change.
 */

/** One count in a cell's byte. */
const UNIT = CYCLE;
const FULL = 15 * UNIT;

const RING_FORMAT = `'>${'I4'.repeat(CYCLE)}'`;

/** Maximum number of expired hidden items that one script deletes. */
const MOST_EXPIRED = 200;

const values = (k: number): string => each(k, (j) => `v${j}`, ', ');

/**
 * After readItem: the page's `stamp`, and its `lag`, the number of epochs it is behind. Most pages are up to date, and
 * for these the script only compares the stamp.
 */
const STAMP = `
      local stamp, lag = epoch, 0
      if sub(page, 1, 4) ~= present then
        local s1, s2, s3, s4 = byte(page, 1, 4)
        stamp = s1 + s2 * 256 + s3 * 65536 + s4 * 16777216
        lag = epoch - stamp
      end`;

/** After claim, for a live item: the number of epochs that it has left. */
export const restOf = ({ hashes: k }: LayerShape): string =>
  `min(${each(k, (j) => `(v${j} - stamp) % 16`, ', ')}) - lag`;

/** Lua that checks whether each cell is live for this many more epochs. */
const liveFor = (k: number, epochs: string): string =>
  each(k, (j) => `v${j} >= ${UNIT} and (v${j} - stamp) % 16 >= ${epochs}`, ' and ');

/**
 * `lastingUntil(last)`: a table of the bytes of cells that live for `last` more epochs in an up-to-date page. Looking
 * up each cell takes a third of the time that computing would take. Each table is built once.
 */
const LASTING = `
local lastings = {}
local function lastingUntil(last)
  local lasting = lastings[last]
  if lasting then return lasting end
  lasting = {}
  lastings[last] = lasting
  for expiry = 0, 15 do
    if (expiry - epoch) % 16 >= last then
      for c = ${UNIT} + expiry, 255, ${UNIT} do lasting[c] = true end
    end
  end
  return lasting
end
`;

/**
 * `clean(cells, from, bytes, stamp)`: empties the expired cells in a page of this many bytes, and stamps it. Returns
 * the new page and the number of emptied cells that were at 15.
 */
const CLEAN = `
local maps, find, gsub = {}, string.find, string.gsub
local function expired(stamp)
  local id = stamp % 16 * 16 + epoch - stamp
  local map = maps[id]
  if not map then
    map = {}
    for c = 0, 255 do
      if (c - stamp) % 16 < epoch - stamp then map[char(c)] = '\\0' end
    end
    maps[id] = map
  end
  return map
end
local function clean(cells, from, bytes, stamp)
  local page = call('GETRANGE', cells, from, string.format('%.0f', from + bytes - 1))
  local old, saturated = sub(page, 5), 0
  local new = epoch - stamp >= 16 and string.rep('\\0', #old) or gsub(old, '[^%z]', expired(stamp))
  if find(old, '[\\240-\\255]') then
    local _, before = gsub(old, '[\\240-\\255]', '')
    local _, after = gsub(new, '[\\240-\\255]', '')
    saturated = before - after
  end
  page = present .. new
  call('SETRANGE', cells, from, page)
  return page, saturated
end
`;

/** In a script that changes the item: cleans its page if needed. */
const cleanItem = ({ hashes: k, pageBytes = 0 }: LayerShape): string => `
        if lag > ${MOST_BEHIND} then
          local lost
          page, lost = clean(cells, from, ${pageBytes}, stamp)
          saturated, stamp, lag = saturated - lost, epoch, 0
          ${values(k)} = ${each(k, (j) => `byte(page, o${j} + 1)`, ', ')}
        end`;

/**
 * Makes each cell live for at least `last` more epochs, and raises it by one if the item is new. A new item's cells may
 * be empty or expired. `ring` counts cells by their last epoch.
 */
const raiseAged = (k: number, isNew: string): string => `
        local expiry, up = (epoch + last) % 16, ${isNew} and ${UNIT} or 0
        ${each(
          k,
          (j) => `if v${j} < ${UNIT} or (v${j} - stamp) % 16 < lag then
          if v${j} >= ${FULL} then saturated = saturated - 1 end
          v${j} = ${UNIT} + expiry
          ring[last] = ring[last] + 1
        else
          local had = (v${j} - stamp) % 16 - lag
          if had < last then
            ring[had], ring[last] = ring[had] - 1, ring[last] + 1
            v${j} = v${j} - v${j} % 16 + expiry
          end
          if v${j} < ${FULL} then
            v${j} = v${j} + up
            if v${j} >= ${FULL} then saturated = saturated + 1 end
          end
        end`,
          '\n        ',
        )}`;

/** Lowers each cell below 15 by one. All cells are live. Sets `emptied` if one becomes empty. */
const lowerAged = (k: number): string =>
  each(
    k,
    (j) => `if v${j} < ${2 * UNIT} then
            local had = (v${j} - stamp) % 16 - lag
            ring[had], v${j}, emptied = ring[had] - 1, 0, true
          elseif v${j} < ${FULL} then
            v${j} = v${j} - ${UNIT}
          end`,
    '\n          ',
  );

/** Writes the bytes v<j> back, with the page's bytes before and between them. */
const writeAged = (k: number): string =>
  `call('SETRANGE', cells, from, concat({${each(
    k,
    (j) => `sub(page, ${j === 1 ? '1' : `o${j - 1} + 2`}, o${j}), char(v${j})`,
    ', ',
  )}}))`;

/** KEYS of the hidden items in the filter's own or the sync's layers. */
export const hiddenKeyOf = ({ keys }: Frame, stack: StackName): string =>
  `KEYS[${keys.hidden + (stack === 'own' ? 0 : 1)}]`;

/** Bytes that age. */
export const AGED: CellKind = {
  open: (frame) => `
local min, keptEpoch, epochMs = math.min, tonumber(${frame.field('epoch')} or 0), tonumber(${frame.arg('epochMs')})
local epoch = math.max(keptEpoch, math.floor(now / epochMs))
local present = struct.pack('<I4', epoch)
local rings, stored, dirty = {}, {}, {}
local keptRings = {${tableOf(frame, (place) => frame.field(frame.metaName(place, 'ring')))}}
local keptItems = {${tableOf(frame, (place) => frame.field(frame.metaName(place, 'items')))}}
local cellsIn = {${tableOf(frame, (place) => `tonumber(${frame.layerArg(place, 'cells')})`)}}
local perItem = {${tableOf(frame, ({ shape }) => String(shape.hashes))}}
local function ringOf(place)
  local ring = rings[place]
  if not ring then
    local text = keptRings[place]
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
for place = 0, ${frame.places.length - 1} do
  stored[place] = epoch == keptEpoch and tonumber(keptItems[place]) or itemsIn(place)
end
local function hiddenIn(key)
  local gone = {}
  if count == 0 or call('ZCARD', key) == 1 then return gone end
  local until_ = call('ZMSCORE', key, unpack(hashesOf()))
  for n = 1, count do gone[n] = until_[n] and tonumber(until_[n]) >= epoch or nil end
  return gone
end
${frame.stacks.map((stack) => `local ${NAMES[stack].gone} = hiddenIn(${hiddenKeyOf(frame, stack)})`).join('\n')}
${frame.changes ? CLEAN : ''}${frame.task.verb === 'remove' ? 'local nowHidden = {}\nhashesOf()' : ''}${
    frame.task.verb === 'add' || frame.task.verb === 'keep' ? `${LASTING}${shownOf(frame)}` : ''
  }`,
  claim: (shape) => `${readItem(shape)}${STAMP}
      local live
      if lag == 0 then live = ${each(shape.hashes, (j) => `v${j} >= ${UNIT}`, ' and ')}
      else live = ${liveFor(shape.hashes, 'lag')} end`,
  visit: ({ shape }, lasts) => `${readItem(shape)}${STAMP}
      local last = ${lasts}
      local want, lastingCells, lasting = lag + last, lastingUntil(last), false
      if lag == 0 then lasting = ${each(shape.hashes, (j) => `lastingCells[v${j}]`, ' and ')}
      else lasting = ${liveFor(shape.hashes, 'want')} end
      local live = lasting or ${liveFor(shape.hashes, 'lag')}`,
  isNew: ({ stack }) => `(not live or ${NAMES[stack].gone}[n])`,
  isStale: (_, { stack }) => `not lasting or ${NAMES[stack].gone}[n]`,
  locals: ({ place }) => `local size, saturated, ring = stored[${place}], 0, nil`,
  raise: (place) => {
    const { shape, stack } = place;
    const { gone, shown } = NAMES[stack];
    return `${cleanItem(shape)}
        ring = ring or ringOf(${place.place})
        ${raiseAged(shape.hashes, AGED.isNew(place))}
        ${writeAged(shape.hashes)}
        dirty[${place.place}] = true
        if ${gone}[n] then ${shown}[#${shown} + 1] = hashes[n] end`;
  },
  lower: (frame, { shape, place, stack }) => {
    const key = hiddenKeyOf(frame, stack);
    return `
        local moved = '0'
        if not (${NAMES[stack].gone}[n] or nowHidden['${stack}' .. hashes[n]]) then${cleanItem(shape)}
          local rest, emptied = ${restOf(shape)}, false
          ring, moved, dirty[${place}] = ring or ringOf(${place}), '1', true
          ${lowerAged(shape.hashes)}
          ${writeAged(shape.hashes)}
          if not emptied then
            nowHidden['${stack}' .. hashes[n]] = true
            call('ZADD', ${key}, string.format('%.0f', epoch + rest), hashes[n])
          end
        end`;
  },
  least: ({ hashes: k }) => `math.floor(min(${values(k)}) / ${UNIT})`,
  account: (frame, place) => `
  ${
    frame.task.verb === 'remove'
      ? `if dirty[${place.place}] then stored[${place.place}] = itemsIn(${place.place}) end`
      : `stored[${place.place}] = size`
  }
  if saturated ~= 0 then call('HINCRBY', meta, '${frame.metaName(place, 'saturated')}', saturated) end`,
  save: (frame) => `
${frame.task.verb === 'remove' ? '' : frame.stacks.map((stack) => showAgain(frame, stack)).join('\n')}
${saveAge(frame)}`,
};

const tableOf = ({ places }: Frame, value: (place: Place) => string): string =>
  places.map((place) => `${place.place === 0 ? '[0] = ' : ''}${value(place)}`).join(', ');

/** Hidden items that this call adds again. */
const shownOf = (frame: Frame): string =>
  frame.stacks.map((stack) => `local ${NAMES[stack].shown} = {}`).join('\n');

const showAgain = (frame: Frame, stack: StackName): string => {
  const { shown } = NAMES[stack];
  return `if #${shown} > 0 then call('ZREM', ${hiddenKeyOf(frame, stack)}, unpack(${shown})) end`;
};

/**
 * Writes the counts by epoch for all layers that have changed, or for all layers if a new epoch has begun. Deletes
 * expired hidden items.
 */
function saveAge(frame: Frame): string {
  const fields = frame.places.map(
    (place) => `{'${frame.metaName(place, 'ring')}', '${frame.metaName(place, 'items')}'}`,
  );
  return `
local changed = {}
for place, fields in ipairs({${fields.join(', ')}}) do
  place = place - 1
  if dirty[place] or epoch ~= keptEpoch then
    local slots, ring = {}, ringOf(place)
    for left = 0, ${CYCLE - 1} do slots[(epoch + left) % ${CYCLE} + 1] = ring[left] end
    local n = #changed
    changed[n + 1], changed[n + 2] = fields[1], struct.pack(${RING_FORMAT}, unpack(slots))
    changed[n + 3], changed[n + 4] = fields[2], string.format('%.0f', stored[place])
  end
end
if #changed > 0 then call('HSET', meta, 'epoch', string.format('%.0f', epoch), unpack(changed)) end
${frame.stacks
  .map(
    (stack) => `if call('ZCARD', ${hiddenKeyOf(frame, stack)}) > 1 then
  local past = call('ZRANGEBYSCORE', ${hiddenKeyOf(frame, stack)}, 0, string.format('%.0f', epoch - 1), 'LIMIT', 0, ${MOST_EXPIRED})
  if #past > 0 then call('ZREM', ${hiddenKeyOf(frame, stack)}, unpack(past)) end
end`,
  )
  .join('\n')}`;
}
