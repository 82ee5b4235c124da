/*
 * Some items of a batch, by their indexes, and their answers. The loops avoid branches on an answer: with mixed
 * answers, branch mispredictions would take longer than the rest of the loop.
 */

/** Indexes of the items with this value, in batch order. */
export function indexesOf(values: Uint8Array, value: number): Uint32Array {
  const indexes = new Uint32Array(values.length);
  let count = 0;
  for (let i = 0; i < values.length; i++) {
    indexes[count] = i;
    count += Number(values[i] === value);
  }
  return indexes.subarray(0, count);
}

export function countOf(values: Uint8Array, value: number): number {
  let count = 0;
  // Iterates by index, because a typed array's iterator takes four times as long.
  for (let i = 0; i < values.length; i++) count += Number(values[i] === value);
  return count;
}

/** The values of some items. */
export function pick(values: Uint8Array, indexes: Uint32Array): Uint8Array {
  return Uint8Array.from(indexes, (index) => values[index] as number);
}

/** Writes the values of some items into `all`, and returns `all`. */
export function put(all: Uint8Array, indexes: Uint32Array, values: Uint8Array): Uint8Array {
  for (let i = 0; i < indexes.length; i++) all[indexes[i] as number] = values[i] as number;
  return all;
}
