/**
 * Lua that reads and writes the cells of one item of a packed batch (see packing.ts). The loop over an item's k cells is
 * unrolled into one text per k and index width, because a call or a table in Redis' Lua costs as much as the work
 * (measured: 1.2 to 1.6 times).
 *
 * An item is read with one GETRANGE from its first cell's byte to its last. For cell j, o<j> is the byte's offset in
 * what was read, m<j> the weight of one unit of the cell in that byte (16 or 1 for a counter, 128 … 1 for a bit) and
 * v<j> the byte. With r the number of values of a cell (16 or 2),
 *
 *   v % (m * r) < m               the cell is zero
 *   v % (m * r) < m * (r - 1)     the cell is below its maximum
 *
 * Cells come in ascending order, so cells of one byte are neighbours.
 */
export interface ItemShape {
  readonly hashes: number;
  /** Byte offsets inside a page need two bytes: pages of more than 256 bytes. */
  readonly wide: boolean;
  /** Cells of a filter that ages: see scripts/aged-cells.ts. */
  readonly aged?: boolean;
}

export const each = (k: number, text: (j: number) => string, separator: string) =>
  Array.from({ length: k }, (_, j) => text(j + 1)).join(separator);

/** Bytes of a packed item in front of its digits. */
export const headBytes = ({ hashes, wide, aged }: ItemShape) =>
  2 + ((wide ? 1 : 0) + (aged ? 1 : 2)) * hashes;

/** Reads item n: its cells' offsets and weights, `from` (decimal) and `page`. */
export function readItem(shape: ItemShape): string {
  const { hashes: k, wide, aged } = shape;
  const names = (letter: string) => each(k, (j) => letter + j, ', ');
  const fields = [...(wide ? ['h'] : []), 'o', ...(aged ? [] : ['m'])].map(names).join(', ');
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

export const someZero = (k: number) => each(k, (j) => `v${j} % (m${j} * values) < m${j}`, ' or ');

/** Writes the bytes v<j> back. The text between cells stays as it was. The last cell of each byte writes that byte. */
export function writeItem(k: number): string {
  const piece = (j: number) => {
    const gap = j === 1 ? '' : `sub(page, o${j - 1} + 2, o${j}) .. `;
    return j === k ? `${gap}char(v${j})` : `${gap}(o${j} == o${j + 1} and '' or char(v${j}))`;
  };
  return `call('SETRANGE', cells, from, ${each(k, piece, ' .. ')})`;
}

/** Cells that share a byte change it one after the other. */
const carry = (j: number) => (j === 1 ? '' : `if o${j} == o${j - 1} then v${j} = v${j - 1} end `);

/** One more in each cell that is below its maximum; `nonzero` and `saturated` count on. */
export const raiseCells = (k: number) =>
  each(
    k,
    (j) => `${carry(j)}local r${j} = v${j} % (m${j} * values)
    if r${j} < m${j} * (values - 1) then
      v${j} = v${j} + m${j}
      if r${j} < m${j} then nonzero = nonzero + 1 end
      if r${j} >= m${j} * (values - 2) then saturated = saturated + 1 end
    end`,
    '\n    ',
  );

/** One less in each counter that is below its maximum; says whether any `moved`, and whether that `emptied` one. */
export const lowerCells = (k: number) =>
  each(
    k,
    (j) => `${carry(j)}local r${j} = v${j} % (m${j} * values)
    if r${j} < m${j} * (values - 1) then
      v${j} = v${j} - m${j}
      moved = true
      if r${j} < m${j} * 2 then nonzero = nonzero - 1 emptied = true end
    end`,
    '\n    ',
  );

/** The smallest of the item's counters. */
export const leastCell = (k: number) =>
  `math.min(${each(k, (j) => `math.floor(v${j} % (m${j} * values) / m${j})`, ', ')})`;

export function suffix({ hashes, wide, aged }: ItemShape): string {
  return `${hashes}${wide ? 'w' : 'n'}${aged ? 'a' : ''}`;
}
