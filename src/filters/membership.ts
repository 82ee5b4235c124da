import { Inject, Injectable } from '@nestjs/common';
import { foldDuplicates, positionsOf, type Keys } from '#bloom';
import { Added, type Filter, type Operation } from '#store';
import { Store } from '../store/store.token.js';

/** Keys of items in, a byte per item out: joins positions and counters. Bytes as in the port. */
@Injectable()
export class Membership {
  constructor(@Inject(Store) private readonly store: Store) {}

  /**
   * Added.New or Added.Present per key. In `set` semantics the first of equal keys is new, the others are not, whatever
   * the store does in parallel. `payloads`: see the port.
   */
  async add(
    filter: Filter,
    keys: Keys,
    operation: Operation,
    payloads?: readonly string[],
  ): Promise<Uint8Array> {
    const positions = positionsOf(keys, filter.seed, filter.geometry);
    const folded = filter.semantics === 'set' ? foldDuplicates(positions) : undefined;
    if (folded === undefined) return this.store.counters.add(filter, positions, operation, payloads);
    const { original } = folded;
    const kept = payloads && Array.from(original, (index) => payloads[index] as string);
    const answers = await this.store.counters.add(filter, folded.positions, operation, kept);
    const bytes = new Uint8Array(keys.length).fill(Added.Present);
    for (let i = 0; i < original.length; i++) bytes[original[i] as number] = answers[i] as number;
    return bytes;
  }

  check(filter: Filter, keys: Keys, deadline: number): Promise<Uint8Array> {
    return this.store.counters.check(filter, positionsOf(keys, filter.seed, filter.geometry), deadline);
  }

  remove(filter: Filter, keys: Keys, operation: Operation): Promise<Uint8Array> {
    return this.store.counters.remove(filter, positionsOf(keys, filter.seed, filter.geometry), operation);
  }

  count(filter: Filter, keys: Keys, deadline: number): Promise<Uint8Array> {
    return this.store.counters.count(filter, positionsOf(keys, filter.seed, filter.geometry), deadline);
  }
}
