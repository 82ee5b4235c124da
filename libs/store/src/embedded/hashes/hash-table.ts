const SHARD_BITS = 6;
const SHARDS = 2 ** SHARD_BITS;
const FIRST_SLOTS = 16;

/**
 * A map from 128-bit hashes to numbers above zero, in typed arrays with open addressing. It takes 50 to 100 bytes per
 * hash, and leaves no objects for the garbage collector to follow. It has many small tables, chosen by the second word,
 * because growing a large one would cause a pause.
 *
 * A hash is four words of an array, starting at index `at`, because words passed one by one would each become an
 * object.
 */
export class HashTable {
  private readonly shards: (Shard | undefined)[] = new Array<undefined>(SHARDS).fill(undefined);
  private entries = 0;

  get size(): number {
    return this.entries;
  }

  /** The number of a hash, or 0. */
  get(words: Uint32Array, at: number): number {
    return this.shards[shardOf(words, at)]?.get(words, at) ?? 0;
  }

  /** `raises`: keeps a higher number. */
  set(words: Uint32Array, at: number, value: number, raises = false): void {
    const shard = (this.shards[shardOf(words, at)] ??= new Shard());
    if (shard.set(words, at, value, raises)) this.entries++;
  }

  /** Calls `visit` for each hash, with an array that has the hash at index `at`. */
  forEach(visit: (words: Uint32Array, at: number, value: number) => void): void {
    for (const shard of this.shards) shard?.forEach(visit);
  }
}

/** Takes the upper bits of the second word. All URLs of a host may share the first word, and placeOf uses the last. */
function shardOf(words: Uint32Array, at: number): number {
  return (words[at + 1] as number) >>> (32 - SHARD_BITS);
}

/**
 * Words in a slot: the hash, then the number, high word first. They are side by side, because each separate place would
 * cost a cache miss.
 */
const SLOT_WORDS = 6;
const NUMBER_AT = 4;
const WORD = 2 ** 32;

class Shard {
  private size = 0;
  private slots = FIRST_SLOTS;
  private table = new Uint32Array(FIRST_SLOTS * SLOT_WORDS);

  get(words: Uint32Array, at: number): number {
    return this.numberAt(this.placeOf(words, at));
  }

  /** Returns true if the hash is new. */
  set(words: Uint32Array, at: number, value: number, raises: boolean): boolean {
    let place = this.placeOf(words, at);
    const known = this.numberAt(place);
    if (raises && known > value) return false;
    const fresh = known === 0;
    if (fresh) {
      if (++this.size > this.slots / 2) {
        this.grow();
        place = this.placeOf(words, at);
      }
      for (let i = 0; i < NUMBER_AT; i++) this.table[place + i] = words[at + i] as number;
    }
    this.table[place + NUMBER_AT] = Math.floor(value / WORD);
    this.table[place + NUMBER_AT + 1] = value;
    return fresh;
  }

  forEach(visit: (words: Uint32Array, at: number, value: number) => void): void {
    for (let place = 0; place < this.table.length; place += SLOT_WORDS) {
      const value = this.numberAt(place);
      if (value > 0) visit(this.table, place, value);
    }
  }

  /** The number in a slot, or 0 if the slot is free. */
  private numberAt(place: number): number {
    return (this.table[place + NUMBER_AT] as number) * WORD + (this.table[place + NUMBER_AT + 1] as number);
  }

  /** Index of a hash's slot, or of the free slot for it. */
  private placeOf(words: Uint32Array, at: number): number {
    const { table } = this;
    const last = this.slots - 1;
    for (let slot = (words[at + 3] as number) & last; ; slot = (slot + 1) & last) {
      const place = slot * SLOT_WORDS;
      if (this.numberAt(place) === 0) return place;
      if (
        table[place] === words[at] &&
        table[place + 1] === words[at + 1] &&
        table[place + 2] === words[at + 2] &&
        table[place + 3] === words[at + 3]
      )
        return place;
    }
  }

  private grow(): void {
    const old = this.table;
    this.slots *= 2;
    this.table = new Uint32Array(this.slots * SLOT_WORDS);
    for (let from = 0; from < old.length; from += SLOT_WORDS) {
      if (old[from + NUMBER_AT] === 0 && old[from + NUMBER_AT + 1] === 0) continue;
      const place = this.placeOf(old, from);
      for (let i = 0; i < SLOT_WORDS; i++) this.table[place + i] = old[from + i] as number;
    }
  }
}
