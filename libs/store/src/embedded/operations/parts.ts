import { select, type Positions } from '#bloom';
import type { Operation } from '../../port/index.js';

/** Some of a batch's items, in batch order. */
export interface Part {
  readonly positions: Positions;
  /** Index of the first item, and the index after the last. */
  readonly from: number;
  readonly to: number;
  readonly operation: Operation;
}

/**
 * Splits a batch whose items change lanes, so that one transaction changes at most `most` lanes. Each part is its own
 * operation. A repeat of the batch has the same parts, so each item gets its first answer again.
 */
export function* partsByHost(
  positions: Positions,
  operation: Operation,
  most: number,
): Generator<Part, void, undefined> {
  const { host, count } = positions;
  const hosts = new Set<number>();
  let from = 0;
  for (let i = 0; host && count > most && i < count; i++) {
    hosts.add(host[2 * i + 1] as number);
    if (hosts.size <= most) continue;
    yield part(positions, operation, from, i);
    hosts.clear();
    hosts.add(host[2 * i + 1] as number);
    from = i;
  }
  if (from > 0) yield part(positions, operation, from, count);
  else yield { positions, operation, from: 0, to: count };
}

function part(positions: Positions, operation: Operation, from: number, to: number): Part {
  const indexes = Uint32Array.from({ length: to - from }, (_, i) => from + i);
  return { positions: selectCopied(positions, indexes), operation: partOf(operation, from), from, to };
}

/** The operation for the part that begins with item `from`. */
export function partOf(operation: Operation, from: number): Operation {
  return from === 0 ? operation : { ...operation, id: `${operation.id}\0${from}` };
}

/** Like `select`, with `copies`. */
export function selectCopied(positions: Positions, indexes: Uint32Array): Positions {
  const { copies } = positions;
  const chosen = select(positions, indexes);
  return copies
    ? { ...chosen, copies: Uint32Array.from(indexes, (index) => copies[index] as number) }
    : chosen;
}
