const WORDS = 4;
const FIRST_SLOTS = 16;

/**
 * Numbers above zero by 128-bit hashes, in typed arrays with open addressing: about 50 bytes a hash, and nothing for the
 * garbage collector to follow. Small tables side by side, chosen by the first word, so that one that grows holds nobody up.
 */
export class MarkTable {
  private readonly shards: (Shard | undefined)[] = new Array<undefined>(SHARDS).fill(undefined);
  private entries = 0;

  /** How many hashes there are. */
  get size(): number {
    return this.entries;
  }

  /** 0 if there is none. */
  get(a: number, b: number, c: number, d: number): number {
    return this.shards[a % SHARDS]?.get(a, b, c, d) ?? 0;
  }

  set(a: number, b: number, c: number, d: number, value: number): void {
    const shard = (this.shards[a % SHARDS] ??= new Shard());
    const before = shard.size;
    shard.set(a, b, c, d, value);
    this.entries += shard.size - before;
  }
}

const SHARDS = 64;

class Shard {
  size = 0;
  private slots = FIRST_SLOTS;
  private words = new Uint32Array(FIRST_SLOTS * WORDS);
  /** 0: the slot is free. */
  private values = new Float64Array(FIRST_SLOTS);

  get(a: number, b: number, c: number, d: number): number {
    return this.values[this.slotOf(a, b, c, d)] as number;
  }

  set(a: number, b: number, c: number, d: number, value: number): void {
    let slot = this.slotOf(a, b, c, d);
    if (this.values[slot] === 0) {
      if (++this.size > this.slots / 2) {
        this.grow();
        slot = this.slotOf(a, b, c, d);
      }
      this.put(slot, a, b, c, d);
    }
    this.values[slot] = value;
  }

  private put(slot: number, a: number, b: number, c: number, d: number): void {
    const at = slot * WORDS;
    this.words[at] = a;
    this.words[at + 1] = b;
    this.words[at + 2] = c;
    this.words[at + 3] = d;
  }

  /** Where a hash is, or would be. */
  private slotOf(a: number, b: number, c: number, d: number): number {
    const { words, values } = this;
    const last = this.slots - 1;
    for (let slot = d & last; ; slot = (slot + 1) & last) {
      if (values[slot] === 0) return slot;
      const at = slot * WORDS;
      if (words[at] === a && words[at + 1] === b && words[at + 2] === c && words[at + 3] === d) return slot;
    }
  }

  private grow(): void {
    const { words, values } = this;
    this.slots *= 2;
    this.words = new Uint32Array(this.slots * WORDS);
    this.values = new Float64Array(this.slots);
    for (let slot = 0; slot < values.length; slot++) {
      const value = values[slot] as number;
      if (value === 0) continue;
      const at = slot * WORDS;
      const [a, b] = [words[at] as number, words[at + 1] as number];
      const [c, d] = [words[at + 2] as number, words[at + 3] as number];
      const to = this.slotOf(a, b, c, d);
      this.put(to, a, b, c, d);
      this.values[to] = value;
    }
  }
}
