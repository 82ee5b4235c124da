import { crc32 } from 'node:zlib';
import { Random } from '../support/random.js';

/** The share of URLs in the real list that occurred before. The made-up mix has the same share. */
export const REAL_DUPLICATES = 0.39;

/** The URLs that a crawler meets: all in order of arrival, and each distinct one once. */
export interface Mix {
  readonly stream: readonly string[];
  /** In order of first arrival. */
  readonly distinct: readonly string[];
}

export function mixOf(stream: readonly string[]): Mix {
  return { stream, distinct: [...new Set(stream)] };
}

/** The share of a mix's URLs that occurred before in it. */
export function duplicateShare({ stream, distinct }: Mix): number {
  return stream.length === 0 ? 0 : 1 - distinct.length / stream.length;
}

/** How many samples to compare. The one whose share of duplicates is closest to the whole list's wins. */
const CANDIDATES = 8;

/**
 * About `count` of the URLs, in order. Takes a URL with all its repeats or not at all. The start of a sorted list, or
 * every tenth line, would have a different share of duplicates. Some URLs have thousands of repeats, so this takes the
 * best of several samples.
 */
export function sampleOf(urls: readonly string[], count: number): string[] {
  const candidates = Math.min(CANDIDATES, Math.floor(urls.length / count));
  if (candidates === 0) return [...urls];
  const samples: string[][] = Array.from({ length: candidates }, () => []);
  const part = (count / urls.length) * 2 ** 32;
  for (const url of urls) samples[Math.floor(crc32(url) / part)]?.push(url);
  const whole = duplicateShare(mixOf(urls));
  const off = (sample: readonly string[]) => Math.abs(duplicateShare(mixOf(sample)) - whole);
  return samples.reduce((best, sample) => (off(sample) < off(best) ? sample : best));
}

/** `count` made-up URLs. The share REAL_DUPLICATES of them repeats an earlier URL, chosen with equal probability. */
export function madeUpMix(count: number, urlAt: (i: number) => string): string[] {
  const random = new Random(39);
  const chosen: number[] = [];
  let fresh = 0;
  for (let i = 0; i < count; i++) {
    const repeats = i > 0 && random.word() < REAL_DUPLICATES * 2 ** 32;
    chosen.push(repeats ? (chosen[random.below(i)] as number) : fresh++);
  }
  return chosen.map(urlAt);
}
