import type { CellKind } from './cell-kind.js';
import type { LayerShape } from './frame.js';

/*
 * Lua that reads and writes the cells of one item of a packed batch (../layout/packing.ts). The loop over an item's k
 * cells is unrolled into one text per k and index width. In Redis' Lua, a call or a table costs as much as the work
 * (measured: 1.2 to 1.6 times).
 *
 * One GETRANGE reads an item, from its first cell's byte to its last. For cell j, o<j> is the byte's offset in the
 * reply, m<j> the weight of one unit of the cell in that byte (16 or 1 for a counter, 128 … 1 for a bit), and v<j> the
 * byte. With r the number of values of a cell (16 or 2),
 *
 *   v % (m * r) < m               the cell is zero
 *   v % (m * r) < m * (r - 1)     the cell is below its maximum
 *
 * Cells are in ascending order, so cells that share a byte are adjacent.
 */

export const each = (k: number, text: (j: number) => string, separator: string): string =>
  Array.from({ length: k }, (_, j) => text(j + 1)).join(separator);

const ages = ({ pageBytes }: LayerShape): boolean => pageBytes !== undefined;

/** Bytes of a packed item before its digits. */
export const headBytes = (shape: LayerShape): number =>
  2 + ((shape.wide ? 1 : 0) + (ages(shape) ? 1 : 2)) * shape.hashes;

/** Reads item n: its cells' offsets, their weights unless cells are bytes, `from` (decimal) and `page`. */
export function readItem(shape: LayerShape): string {
  const { hashes: k, wide } = shape;
  const names = (letter: string): string => each(k, (j) => letter + j, ', ');
  const fields = [...(wide ? ['h'] : []), 'o', ...(ages(shape) ? [] : ['m'])].map(names).join(', ');
  const width = headBytes(shape);
  return `
      local a, b, ${fields} = byte(packed, at, at + ${width - 1})
      ${wide ? each(k, (j) => `o${j} = h${j} * 256 + o${j}`, ' ') : ''}
      local digits = at + ${width}
      at = digits + a + b
      local from = sub(packed, digits, digits + a - 1)
      local page = call('GETRANGE', cells, from, sub(packed, digits + a, at - 1))
      local ${names('v')} = ${each(k, (j) => `byte(page, o${j} + 1)`, ', ')}`;
}

const someZero = (k: number): string => each(k, (j) => `v${j} % (m${j} * values) < m${j}`, ' or ');

/** Writes the bytes v<j> back, with the unchanged bytes between them. A byte's last cell writes it. */
function writeItem(k: number): string {
  const piece = (j: number): string => {
    const gap = j === 1 ? '' : `sub(page, o${j - 1} + 2, o${j}) .. `;
    return j === k ? `${gap}char(v${j})` : `${gap}(o${j} == o${j + 1} and '' or char(v${j}))`;
  };
  return `call('SETRANGE', cells, from, ${each(k, piece, ' .. ')})`;
}

/** Passes the byte on to the next cell if both share it. */
const carry = (j: number): string => (j === 1 ? '' : `if o${j} == o${j - 1} then v${j} = v${j - 1} end `);

/**
 * Raises each cell below its maximum by one. Adds the cells that become non-zero or saturated to `nonzero` and
 * `saturated`.
 */
const raiseCells = (k: number): string =>
  each(
    k,
    (j) => `${carry(j)}local r${j} = v${j} % (m${j} * values)
        if r${j} < m${j} * (values - 1) then
          v${j} = v${j} + m${j}
          if r${j} < m${j} then nonzero = nonzero + 1 end
          if r${j} >= m${j} * (values - 2) then saturated = saturated + 1 end
        end`,
    '\n        ',
  );

/** Lowers each counter below its maximum by one. Sets `moved` if one was lowered, and `emptied` if one became zero. */
const lowerCells = (k: number): string =>
  each(
    k,
    (j) => `${carry(j)}local r${j} = v${j} % (m${j} * values)
        if r${j} < m${j} * (values - 1) then
          v${j} = v${j} - m${j}
          moved = '1'
          if r${j} < m${j} * 2 then nonzero = nonzero - 1 emptied = true end
        end`,
    '\n        ',
  );

/** Counters of 4 bits, or bits. */
export const PACKED: CellKind = {
  open: (frame) => `
local values = tonumber(${frame.arg('values')})
local stored = {[0] = tonumber(kept[2])${frame.places
    .slice(1)
    .map((place) => `, tonumber(${frame.field(frame.metaName(place, 'items'))} or 0)`)
    .join('')}}`,
  claim: (shape) => `${readItem(shape)}
      local live = not (${someZero(shape.hashes)})`,
  visit: ({ shape }) => PACKED.claim(shape),
  isNew: () => 'not live',
  isStale: ({ task }) => (task.multiset ? 'true' : 'not live'),
  locals: ({ place }) => `local size, nonzero, saturated = stored[${place}], 0, 0`,
  raise: ({ shape: { hashes: k } }) => `${raiseCells(k)}
        ${writeItem(k)}`,
  lower: (_, { shape: { hashes: k } }) => `
        local moved, emptied = '2', false
        ${lowerCells(k)}
        if moved == '1' then
          ${writeItem(k)}
          if emptied then size = math.max(0, size - 1) end
        end`,
  least: ({ hashes: k }) =>
    `math.min(${each(k, (j) => `math.floor(v${j} % (m${j} * values) / m${j})`, ', ')})`,
  account: (frame, place) => `
  if size ~= stored[${place.place}] then
    call('HINCRBY', meta, '${frame.metaName(place, 'items')}', size - stored[${place.place}])
    stored[${place.place}] = size
  end
  if nonzero ~= 0 then call('HINCRBY', meta, '${frame.metaName(place, 'nonzero')}', nonzero) end
  if saturated ~= 0 then call('HINCRBY', meta, '${frame.metaName(place, 'saturated')}', saturated) end`,
  save: () => '',
};
