import type { Database } from '../database/database.js';
import type { FilterState } from './filter-state.js';
import { hiddenBefore, PREFIX_BYTES, prefixRange, stackPrefix, UNTIL_BYTES } from '../database/keys.js';
import type { LayerStack } from '../layers/layer-stack.js';
import { HASH_BYTES, HASH_WORDS } from '../hashes/hash-bytes.js';

/*
 * Hidden items (layers/hidden.ts) as database rows. A key is `stackPrefix`, the last epoch in which the item is hidden
 * (4 bytes), and the item's hash. The value is empty.
 */

const KEY_BYTES = PREFIX_BYTES + UNTIL_BYTES + HASH_BYTES;
const NOTHING = new Uint8Array(0);

/** The parts of a session that write hidden items. */
interface HidingSession {
  readonly database: Database;
  /** Deletes the rows of items that stopped being hidden before an epoch. */
  readonly purger: { hidden(state: FilterState, base: number, epoch: number): void };
}

/** Writes changes to a filter's hidden items, and deletes expired ones. Call it inside a transaction. */
export function writeHidden({ database, purger }: HidingSession, state: FilterState): void {
  for (const { age, base } of state.stacks) {
    if (!age) continue;
    for (const { hash, until, hidden } of age.hidden.takeChanges()) {
      const key = rowKey(state.key, base, until, hash);
      if (hidden) database.hidden.putSync(key, NOTHING);
      else database.hidden.removeSync(key);
    }
    if (age.purgedTo < age.epoch) purger.hidden(state, base, age.epoch);
    age.purgedTo = age.epoch;
  }
}

/** Reads the rows after a start. Returns false if some are missing. */
export function readHidden(database: Database, state: FilterState): boolean {
  return state.stacks.every((stack) => readStack(database, state, stack));
}

function readStack(database: Database, state: FilterState, { age, base }: LayerStack): boolean {
  if (!age) return true;
  const words = new Uint32Array(HASH_WORDS);
  for (const { key } of database.hidden.getRange(prefixRange(stackPrefix(state.key, base)))) {
    if (key.length !== KEY_BYTES) return false;
    const until = key.readUInt32BE(PREFIX_BYTES);
    if (until < age.epoch) continue;
    for (let word = 0; word < HASH_WORDS; word++)
      words[word] = key.readUInt32BE(PREFIX_BYTES + UNTIL_BYTES + 4 * word);
    age.hidden.restore(words, 0, until);
  }
  return age.hidden.size === age.stored;
}

function rowKey(generation: Buffer, base: number, until: number, hash: Uint32Array): Buffer {
  const key = Buffer.allocUnsafe(KEY_BYTES);
  key.set(hiddenBefore(generation, base, until));
  for (let word = 0; word < HASH_WORDS; word++)
    key.writeUInt32BE(hash[word] as number, PREFIX_BYTES + UNTIL_BYTES + 4 * word);
  return key;
}
