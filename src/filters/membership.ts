import { Inject, Injectable } from '@nestjs/common';
import { foldDuplicates, positionsByBlock, type Folded, type Keys, type Positions } from '#bloom';
import { Added, type AddOptions, type Filter } from '#store';
import { whenInTurn, type OrderedOperation } from '../batches/ordered-operation.js';
import { turn } from '../event-loop/turn.js';
import { Store } from '../store/store.token.js';

/**
 * Computes the positions of items' keys and calls the store with them. Returns one byte per item, as defined by the
 * port.
 */
@Injectable()
export class Membership {
  constructor(@Inject(Store) private readonly store: Store) {}

  /**
   * Returns one of Added per key. Unless a multiset counts every key, only the first among equal keys is new, even if
   * the store works in parallel. The port explains the options.
   */
  async add(
    filter: Filter,
    keys: Keys,
    operation: OrderedOperation,
    options: AddOptions = {},
  ): Promise<Uint8Array> {
    const positions = await positionsIn(filter, keys);
    const folded = filter.semantics === 'set' || options.onlyAbsent ? foldDuplicates(positions) : undefined;
    if (folded === undefined)
      return this.store.counters.add(filter, positions, await whenInTurn(operation), options);
    const { original } = folded;
    const kept = (of?: readonly string[]) => of && Array.from(original, (index) => of[index] as string);
    const answers = await this.store.counters.add(filter, folded.positions, await whenInTurn(operation), {
      ...options,
      payloads: kept(options.payloads),
      hosts: kept(options.hosts),
    });
    return unfolded(folded, answers);
  }

  async check(filter: Filter, keys: Keys, deadline: number): Promise<Uint8Array> {
    return this.store.counters.check(filter, await positionsIn(filter, keys), deadline);
  }

  /** `ids`: see Counters.remove. */
  async remove(
    filter: Filter,
    keys: Keys,
    operation: OrderedOperation,
    ids?: readonly string[],
  ): Promise<Uint8Array> {
    const positions = await positionsIn(filter, keys);
    return this.store.counters.remove(filter, positions, await whenInTurn(operation), ids);
  }

  /** Returns Kept.… per key, for the sync with this id. Counts equal keys separately. `hosts`: see Counters.add. */
  async keep(
    filter: Filter,
    id: string,
    keys: Keys,
    operation: OrderedOperation,
    hosts?: readonly string[],
  ): Promise<Uint8Array> {
    const positions = await positionsIn(filter, keys);
    return this.store.syncs.keep(filter, id, positions, await whenInTurn(operation), hosts);
  }

  async count(filter: Filter, keys: Keys, deadline: number): Promise<Uint8Array> {
    return this.store.counters.count(filter, await positionsIn(filter, keys), deadline);
  }
}

/** A batch's answers, from those for its folded form. If an item is limited, so are its copies. */
function unfolded({ original, folded }: Folded, answers: Uint8Array): Uint8Array {
  const limited = answers.includes(Added.Limited);
  const bytes = new Uint8Array(folded.length).fill(Added.Present);
  for (let i = 0; limited && i < folded.length; i++)
    if (answers[folded[i] as number] === Added.Limited) bytes[i] = Added.Limited;
  for (let i = 0; i < original.length; i++) bytes[original[i] as number] = answers[i] as number;
  return bytes;
}

/** The keys' positions in a filter. For many or long keys, this takes several turns of the event loop. */
async function positionsIn({ seed, geometry }: Filter, keys: Keys): Promise<Positions> {
  const blocks = positionsByBlock(keys, seed, geometry);
  for (;;) {
    const { done, value } = blocks.next();
    if (done) return value;
    if (turn.isSpent()) await turn.next();
  }
}
