import { readStrings, type Keys, type PackedKeys } from '#bloom';
import { jsonBatch, type BatchLimits } from './entries.js';

const HEAD = /^[ \t\n\r]*\{[ \t\n\r]*"items"[ \t\n\r]*:[ \t\n\r]*\[[ \t\n\r]*/;
const MAX_HEAD_BYTES = 64;
const TAIL = /^[ \t\n\r]*\}[ \t\n\r]*$/;

/** Larger bodies are parsed, because the memory for packed bodies never shrinks. */
const MAX_BYTES = 2 ** 21;

/**
 * A JSON body with only items and no escapes, like most bodies. The service uses it without creating a string for each
 * item.
 */
export class PackedItems {
  private constructor(
    readonly keys: PackedKeys,
    /** Parses the body with JSON.parse. */
    readonly parse: () => Promise<unknown>,
  ) {}

  /** Packs `raw`, which is valid UTF-8. Returns undefined for any other kind of body. */
  static of(raw: Buffer, parse: () => Promise<unknown>): PackedItems | undefined {
    if (raw.length > MAX_BYTES) return undefined;
    const head = HEAD.exec(raw.toString('latin1', 0, MAX_HEAD_BYTES))?.[0];
    if (head === undefined) return undefined;
    const strings = readStrings(raw, head.length);
    if (strings === undefined || !TAIL.test(raw.toString('latin1', strings.end))) return undefined;
    const { span } = strings;
    return new PackedItems({ bytes: raw, span, length: span.length / 2 }, parse);
  }

  /** The packed items. Parses a body beyond a limit, so that jsonBatch throws the error with its details. */
  async entries(limits: BatchLimits): Promise<Keys> {
    return this.isWithin(limits) ? this.keys : jsonBatch(await this.parse(), 'items', limits);
  }

  isWithin({ maxItems, maxItemBytes }: BatchLimits): boolean {
    const { span, length } = this.keys;
    if (length > maxItems) return false;
    for (let i = 0; i < length; i++) {
      const bytes = (span[2 * i + 1] as number) - (span[2 * i] as number);
      if (bytes === 0 || bytes > maxItemBytes) return false;
    }
    return true;
  }
}
