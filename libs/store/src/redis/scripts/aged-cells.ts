import { CYCLE, MOST_BEHIND } from '../../age.js';
import { each, type ItemShape } from './cells.js';

/*
 * Lua that reads and writes the cells of one item of a filter that ages (../../age.ts). An item is read with one GETRANGE from its
 * page's stamp to its last cell. For cell j, o<j> is its offset in what was read, and v<j> its byte. `epoch` is the present.
 */

/** The counter of a cell is so many of these. */
const UNIT = CYCLE;
const FULL = 15 * UNIT;

const values = (k: number) => each(k, (j) => `v${j}`, ', ');

/** Behind readItem: the page's \`stamp\`, and how many epochs it is behind. Most pages are not: their stamp is not even read. */
const STAMP = `
      local stamp, lag = epoch, 0
      if sub(page, 1, 4) ~= present then
        local s1, s2, s3, s4 = byte(page, 1, 4)
        stamp = s1 + s2 * 256 + s3 * 65536 + s4 * 16777216
        lag = epoch - stamp
      end`;

/** Whether each cell is live for so many more epochs, as Lua; without them, whether it is live now. */
const liveFor = (k: number, epochs: string) =>
  each(k, (j) => `v${j} >= ${UNIT} and (v${j} - stamp) % 16 >= ${epochs}`, ' and ');

/** Behind readItem: whether the item is \`live\`. */
export const judgeItem = ({ hashes: k }: ItemShape) => `${STAMP}
      local live
      if lag == 0 then live = ${each(k, (j) => `v${j} >= ${UNIT}`, ' and ')}
      else live = ${liveFor(k, 'lag')} end`;

/** Behind judgeItem, of an item that is live: for how many more epochs. */
export const restOf = ({ hashes: k }: ItemShape) =>
  `min(${each(k, (j) => `(v${j} - stamp) % 16`, ', ')}) - lag`;

/**
 * \`lastingUntil(last)\`: whether a cell of a page that is up to date is live for so many more epochs, by its byte. Looking that up
 * takes a third of computing it for each cell. What it answers is made once.
 */
export const LASTING = `
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
 * Behind readItem and LASTING: whether the item is there for \`last\` more epochs, as \`lasting\`; if not, whether it is \`live\`.
 */
export const judgeVisit = ({ hashes: k }: ItemShape) => `${STAMP}
      local want, lastingCells, lasting = lag + last, lastingUntil(last), false
      if lag == 0 then lasting = ${each(k, (j) => `lastingCells[v${j}]`, ' and ')}
      else lasting = ${liveFor(k, 'want')} end
      local live = lasting or ${liveFor(k, 'lag')}`;

/**
 * `clean(cells, from, bytes, stamp)`: empties the expired cells of a page of so many bytes, and stamps it. Answers the page as it
 * is then, and how many of the cells it emptied were at 15.
 */
export const CLEAN = `
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

/** Cleans the item's page of so many bytes if that is due, in a script that changes it. */
export const cleanItem = ({ hashes: k }: ItemShape, bytes: number) => `
        if lag > ${MOST_BEHIND} then
          local lost
          page, lost = clean(cells, from, ${bytes}, stamp)
          saturated, stamp, lag = saturated - lost, epoch, 0
          ${values(k)} = ${each(k, (j) => `byte(page, o${j} + 1)`, ', ')}
        end`;

/**
 * Each cell is live for \`last\` more epochs at least, and counts one more if \`up\` is 16 instead of 0; then empty or expired cells may
 * be among them. \`ring\` counts cells by their last epoch.
 */
export const raiseAged = ({ hashes: k }: ItemShape) => `
        local expiry = (epoch + last) % 16
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

/** One less in each cell that is below 15, all of them being live; says whether that `emptied` one. */
export const lowerAged = ({ hashes: k }: ItemShape) =>
  each(
    k,
    (j) => `if v${j} < ${2 * UNIT} then
          local had = (v${j} - stamp) % 16 - lag
          ring[had], v${j}, emptied = ring[had] - 1, 0, true
        elseif v${j} < ${FULL} then
          v${j} = v${j} - ${UNIT}
        end`,
    '\n        ',
  );

/** Writes the bytes v<j> back, and the page up to the last of them as it was read. */
export const writeAged = ({ hashes: k }: ItemShape) =>
  `call('SETRANGE', cells, from, ${each(
    k,
    (j) => `sub(page, ${j === 1 ? '1' : `o${j - 1} + 2`}, o${j}), char(v${j})`,
    ', ',
  )
    .replace(/^/, 'concat({')
    .concat('})')})`;

/** The smallest of the item's counters. */
export const leastAged = ({ hashes: k }: ItemShape) => `math.floor(min(${values(k)}) / ${UNIT})`;
