import { readFileSync } from 'node:fs';

/** Items per batch, unless a row uses a different number. */
export const BATCH = 1_000;

/** The i-th made-up URL. All are distinct and have 77 bytes, like the URLs of a news archive. */
export function urlAt(i: number): string {
  const site = String(i % 997).padStart(3, '0');
  return `https://www.news-${site}.example.org/archive/2026/11/21/story-${String(i).padStart(14, '0')}.html`;
}

/** `count` URLs, starting at number `first`. */
export function urls(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => urlAt(first + i));
}

/**
 * Copies of the strings as a JSON parser creates them. Concatenated or sliced strings would be copied again when they
 * are first hashed.
 */
export function flat(strings: readonly string[]): string[] {
  return JSON.parse(JSON.stringify(strings)) as string[];
}

/** `items` in batches. The last one may be shorter. */
export function batchesOf(items: readonly string[], batch = BATCH): string[][] {
  return Array.from({ length: Math.ceil(items.length / batch) }, (_, b) =>
    items.slice(b * batch, (b + 1) * batch),
  );
}

/** The non-empty lines of a file. */
export function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split(/\r?\n/)
    .filter((line) => line !== '');
}

/** JSON bodies with `count` items in batches, built before any clock starts. */
export function jsonBodies(
  first: number,
  count: number,
  batch = BATCH,
  member: 'items' | 'urls' = 'items',
): Buffer[] {
  return Array.from({ length: count / batch }, (_, b) => jsonBody(first + b * batch, batch, member));
}

export function jsonBody(first: number, count: number, member: 'items' | 'urls' = 'items'): Buffer {
  return Buffer.from(JSON.stringify({ [member]: urls(first, count) }));
}

/** One body with one item per line. */
export function lineBody(format: 'ndjson' | 'text', first: number, count: number): Buffer {
  const lines = urls(first, count).map((url) => (format === 'ndjson' ? JSON.stringify(url) : url));
  return Buffer.from(`${lines.join('\n')}\n`);
}

/** Hosts of the URLs below. */
const HOSTS = 1_200;

/** `count` URLs on the hosts with these numbers, starting at number `first`, one per line. */
export function hostLines(
  first: number,
  count: number,
  hostOf: (i: number) => number,
  hosts = HOSTS,
): Buffer {
  const lines = Array.from({ length: count }, (_, n) => {
    const i = first + n;
    const host = String(hostOf(i) % hosts).padStart(4, '0');
    return `https://www.news-${host}.example.org/archive/2026/11/21/story-${String(i).padStart(12, '0')}.html\n`;
  });
  return Buffer.from(lines.join(''));
}
