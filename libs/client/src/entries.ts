/** Takes the place of an entry that can't be sent. It counts as an entry and is reported as refused. */
export class BadEntry {
  constructor(readonly reason: string) {}
}

/** About how many characters an entry takes in a body. An object entry has two strings. */
export function sizeOf(entry: unknown): number {
  if (typeof entry === 'string') return entry.length + 3;
  const { url, payload } = (entry ?? {}) as { url?: unknown; payload?: unknown };
  return String(url).length + String(payload).length + 24;
}

/**
 * A digest of entries in their order, from two lanes of MurmurHash3. It shows whether a list starts with the same
 * entries as before, but doesn't protect against deliberate collisions. Browsers' hash functions need the whole list in
 * one call, and exist only on pages served over HTTPS.
 */
export class Digest {
  private readonly lanes = Int32Array.of(0x3c6ef372, 0x1b873593);

  add(entry: unknown): void {
    if (typeof entry === 'string') this.addText(entry, 0);
    // Leave out a bad entry's reason, which may be worded differently next time.
    else if (entry instanceof BadEntry) this.addText('', 1);
    else {
      const { url, payload } = (entry ?? {}) as { url?: unknown; payload?: unknown };
      this.addText(String(url), 2);
      this.addText(String(payload), 3);
    }
  }

  /** 16 hexadecimal digits. */
  text(): string {
    return Array.from(this.lanes, (lane) => (lane >>> 0).toString(16).padStart(8, '0')).join('');
  }

  /**
   * Puts two characters into a word. The first word holds the length, so two different texts never give the same words.
   */
  private addText(text: string, kind: 0 | 1 | 2 | 3): void {
    const { lanes } = this;
    const { length } = text;
    let a = lanes[0] as number;
    let b = lanes[1] as number;
    let word = (length << 2) | kind;
    for (let i = 0; ; i += 2) {
      const forA = Math.imul(word, 0xcc9e2d51);
      a ^= Math.imul((forA << 15) | (forA >>> 17), 0x1b873593);
      a = (Math.imul((a << 13) | (a >>> 19), 5) + 0xe6546b64) | 0;
      const forB = Math.imul(word, 0xab0e9789);
      b ^= Math.imul((forB << 16) | (forB >>> 16), 0x38b34ae5);
      b = (Math.imul((b << 18) | (b >>> 14), 5) + a) | 0;
      if (i >= length) break;
      word = text.charCodeAt(i) | ((i + 1 < length ? text.charCodeAt(i + 1) : 0) << 16);
    }
    lanes[0] = a;
    lanes[1] = b;
  }
}
