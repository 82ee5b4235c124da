import calculateSlot from 'cluster-key-slot';

/**
 * The key layout. Stored filters are found by it.
 *
 * The keys of a segment share a hash tag, so they are in one cluster slot:
 *
 *   unseen:{<generation>.<segment>.<salt>}:cells            the counters of the first layer (string)
 *                                         :cells:<layer>:<piece>
 *                                                           those of another layer, in one or more pieces
 *                                                           (strings; layers and pieces are numbered from 0). A sync
 *                                                           fills new layers, which replace the others on commit
 *                                         :removed:<layer>  hashes of items removed during the sync whose first
 *                                                           layer this is (hash)
 *                                         :owed:<layer>     of a visited set, during that sync: notes on entries
 *                                                           that moved after the opening, in order, because the copy
 *                                                           of the queue may miss them (sorted set)
 *                                         :hidden:<layer>   of a filter that ages: hashes of removed items whose
 *                                                           cells stay live, by the last epoch of that (sorted set);
 *                                                           <layer> is the first of the filter's or the sync's
 *                                         :meta             generation and counts (hash)
 *                                         :operations:<origin>:current | :previous
 *                                                           operation records (hashes; origin caller | made)
 *                                         :queue:…          of visited sets:
 *                                           chunks            waiting entries, in order (hash)
 *                                           leases            lease -> its entries and their states (hash)
 *                                           ends              leases, by when they end (sorted set)
 *                                           delayed           entries, by when they are available (sorted set)
 *                                           dead              dead letters, by number (sorted set)
 *                                           marks:new | :old  hash of a forgotten item -> clock (hashes)
 *                                         :queue:…          in a per-host queue, also:
 *                                           lanes             lanes of hosts: their counts and times (hash)
 *                                           due               lanes, by when they may be leased from (sorted set)
 *
 * A layer's keys are created with the layer, those for removals and moved entries with the sync, and all others with
 * the filter. They are never empty and have no time to live, so a missing key means lost data. The salt puts segment i
 * of S into the i-th of S equal ranges of the 16,384 slots.
 *
 * The catalogue, under its own hash tag:
 *
 *   unseen:{catalogue}:filters                              name -> description (hash of JSON), and '' -> the version
 *                                                           of this layout, and an id of the catalogue
 *   unseen:{catalogue}:names:<kind>                         names in order (sorted set, all scores 0)
 *   unseen:{catalogue}:unfinished                           names being created or dropped (sorted set, likewise)
 *   unseen:{catalogue}:usage                                prefix of names -> how many, and their bytes (hash)
 *   unseen:{catalogue}:operations:<origin>:current | :previous
 *   unseen:{catalogue}:syncs                                names with a sync, by its last call (sorted set)
 *   unseen:{catalogue}:credentials                          id -> value of a credential (hash)
 *
 * The only keys with a time to live (a second):
 *
 *   unseen:rate:<caller>                                    requests of a caller in this second
 */
export interface SegmentKeys {
  /** Key of the first piece of the first layer. */
  readonly cells: string;
  /** Prefix of the keys of all pieces. */
  readonly pieces: string;
  /** Prefix of the keys of noted removals. */
  readonly removed: string;
  /** Prefix of the keys of entries that moved during a sync. */
  readonly owed: string;
  /** Prefix of the keys of hidden items. */
  readonly hidden: string;
  readonly meta: string;
  readonly queue: QueueKeys;
  readonly operations: OperationKeys;
}

/** See scripts/queue-state.ts for their contents. */
export interface QueueKeys {
  readonly chunks: string;
  readonly leases: string;
  readonly ends: string;
  readonly delayed: string;
  readonly dead: string;
  readonly marks: string;
  readonly oldMarks: string;
  /** Only in per-host queues. */
  readonly hosts?: { readonly lanes: string; readonly due: string };
}

export type OperationKeys = Readonly<
  Record<'caller' | 'made', { readonly current: string; readonly previous: string }>
>;

const SLOTS = 16_384;

/** Increases with each change after which older or newer instances could misread keys. */
export const LAYOUT_VERSION = '1';

export const CATALOGUE = {
  filters: 'unseen:{catalogue}:filters',
  names: (kind: string) => `unseen:{catalogue}:names:${kind}`,
  unfinished: 'unseen:{catalogue}:unfinished',
  usage: 'unseen:{catalogue}:usage',
  syncs: 'unseen:{catalogue}:syncs',
  operations: operationKeys('unseen:{catalogue}'),
  credentials: 'unseen:{catalogue}:credentials',
};

/** Prefix of the rate keys, without the colon before the caller. */
export const RATE_PREFIX = 'unseen:rate';

function operationKeys(prefix: string): OperationKeys {
  const pair = (origin: string) => ({
    current: `${prefix}:operations:${origin}:current`,
    previous: `${prefix}:operations:${origin}:previous`,
  });
  return { caller: pair('caller'), made: pair('made') };
}

const SALT_DIGITS = 5;
const SALTS = 10 ** SALT_DIGITS;
const BLANK_SALT = '\0'.repeat(SALT_DIGITS);
/** Maximum number of attempts to find a salt. One slot in 64 has no salt. */
const TRIES = 100;

/**
 * The last salt of each slot, or -1 if there is none. The slot of a text is a CRC without an initial value, so it is
 * linear. The XOR of the slots of two texts of equal length is the slot of their XOR, and leading zero bytes change
 * nothing. So each digit adds its own part to a salt's slot, and the salt adds its own part to the slot of a tag that
 * ends with it.
 */
const SALT_BY_SLOT = saltBySlot();

function saltBySlot(): Int32Array {
  const slots = new Uint16Array(SALTS);
  for (let behind = 0, known = 1; behind < SALT_DIGITS; behind++, known *= 10) {
    // From digit 9 down, because the slots of lower digits are read until the digit is 0.
    for (let digit = 9; digit >= 0; digit--) {
      const part = calculateSlot(digit + '\0'.repeat(behind));
      for (let n = 0; n < known; n++) slots[digit * known + n] = (slots[n] as number) ^ part;
    }
  }
  const salts = new Int32Array(SLOTS).fill(-1);
  slots.forEach((slot, salt) => (salts[slot] = salt));
  return salts;
}

/**
 * Hash tags of a filter's segments, in order. Generation and number choose a slot in each segment's range. A range
 * begins where `redis-cli --cluster create` begins a master's range, so no segment has a slot of the next master.
 */
export function segmentTags(generation: string, segments: number): string[] {
  return Array.from({ length: segments }, (_, segment) => {
    const first = Math.min(SLOTS - 1, Math.round((segment * SLOTS) / segments));
    const end = Math.max(first + 1, Math.round(((segment + 1) * SLOTS) / segments));
    for (let n = 0; n < TRIES; n++) {
      const start = `${generation}.${segment}.${n}`;
      const unsalted = calculateSlot(start + BLANK_SALT);
      const slot = first + (unsalted % (end - first));
      const salt = SALT_BY_SLOT[slot ^ unsalted] as number;
      if (salt >= 0) return start + String(salt).padStart(SALT_DIGITS, '0');
    }
    throw new Error(`no salt puts segment ${segment} of ${segments} into its slots`);
  });
}

/** The keys of a segment. `base` is the number of the first layer. `hosts`: its queue has a lane for each host. */
export function segmentKeys(tag: string, base = 0, hosts = false): SegmentKeys {
  const prefix = `unseen:{${tag}}`;
  const pieces = `${prefix}:cells`;
  return {
    cells: pieceKey({ pieces }, base, 0),
    pieces,
    removed: `${prefix}:removed`,
    owed: `${prefix}:owed`,
    hidden: `${prefix}:hidden`,
    meta: `${prefix}:meta`,
    queue: {
      chunks: `${prefix}:queue:chunks`,
      leases: `${prefix}:queue:leases`,
      ends: `${prefix}:queue:ends`,
      delayed: `${prefix}:queue:delayed`,
      dead: `${prefix}:queue:dead`,
      marks: `${prefix}:queue:marks:new`,
      oldMarks: `${prefix}:queue:marks:old`,
      ...(hosts && { hosts: { lanes: `${prefix}:queue:lanes`, due: `${prefix}:queue:due` } }),
    },
    operations: operationKeys(prefix),
  };
}

/** The number of a layer, and its pieces in each segment. */
export interface LayerPieces {
  readonly number: number;
  readonly pieces: number;
}

/** Every key that a segment with these layers may have. */
export function allKeys(keys: SegmentKeys, queued: boolean, layers: readonly LayerPieces[] = []): string[] {
  const { caller, made } = keys.operations;
  const always = [keys.meta, caller.current, caller.previous, made.current, made.previous];
  const cells = new Set([pieceKey(keys, 0, 0), ...layers.flatMap((layer) => layerKeys(keys, layer))]);
  const removed = layers.map(({ number }) => removedKey(keys, number));
  const owed = queued ? layers.map(({ number }) => owedKey(keys, number)) : [];
  const hidden = layers.map(({ number }) => hiddenKey(keys, number));
  return [...cells, ...removed, ...owed, ...hidden, ...always, ...(queued ? queueKeys(keys) : [])];
}

export function pieceKey({ pieces }: Pick<SegmentKeys, 'pieces'>, layer: number, piece: number): string {
  return layer === 0 && piece === 0 ? pieces : `${pieces}:${layer}:${piece}`;
}

/**
 * The key of the removals noted during a sync. It has the number of the sync's first layer. Otherwise, a late cleanup
 * after one sync could delete the key of the next.
 */
export function removedKey({ removed }: Pick<SegmentKeys, 'removed'>, base: number): string {
  return `${removed}:${base}`;
}

/** The key of the entries that have moved since a sync was opened, by the number of the sync's first layer. */
export function owedKey({ owed }: Pick<SegmentKeys, 'owed'>, base: number): string {
  return `${owed}:${base}`;
}

/** The key of the hidden items of a filter or sync, by the number of its first layer. */
export function hiddenKey({ hidden }: Pick<SegmentKeys, 'hidden'>, base: number): string {
  return `${hidden}:${base}`;
}

export function layerKeys(keys: Pick<SegmentKeys, 'pieces'>, { number, pieces }: LayerPieces): string[] {
  return Array.from({ length: pieces }, (_, piece) => pieceKey(keys, number, piece));
}

/** Keys of a segment's queue, in the order of the scripts: see scripts/queue-state.ts. */
export function queueKeys({ queue }: SegmentKeys): string[] {
  const { chunks, leases, ends, delayed, dead, marks, oldMarks, hosts } = queue;
  return [chunks, leases, ends, delayed, dead, marks, oldMarks, ...(hosts ? [hosts.lanes, hosts.due] : [])];
}
