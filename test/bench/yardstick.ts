import murmurHash3 from 'murmurhash3js-revisited';
import { ownCpuMicros } from './process-usage.js';
import { assertSetUp } from './row.js';
import { linesOf, urls } from './workload.js';

const ITEMS = 100_000;

/** Work whose CPU per item is the unit for other work. Returns the number of items. */
export type Yardstick = () => number;

/** A third-party hash in JavaScript, on the same URLs. */
export function murmurPass(): Yardstick {
  const all = urls(0, ITEMS).map((url) => Buffer.from(url));
  return () => {
    let length = 0;
    for (const url of all) length += murmurHash3.x86.hash128(url, 0).length;
    assertSetUp(length === 32 * all.length, 'hashes have 32 digits');
    return all.length;
  };
}

/** Node's own parser, on the lines of a file that are URLs. */
export function parsePass(file: string): Yardstick {
  const lines = linesOf(file).filter((line) => URL.canParse(line));
  return () => {
    let length = 0;
    let parsed = 0;
    for (; parsed < ITEMS; parsed += lines.length) {
      for (const line of lines) length += new URL(line).href.length;
    }
    assertSetUp(length > 0, 'parsed URLs are not empty');
    return parsed;
  };
}

/** CPU of this process, in µs per item. */
export function microsPerItem(pass: Yardstick): number {
  const from = ownCpuMicros();
  const items = pass();
  return (ownCpuMicros() - from) / items;
}
