import { crc32 } from 'node:zlib';
import { Random } from '../support/random.js';

/** How many of the URLs of the real list were in it before: the made-up mix repeats as many. */
export const REAL_DUPLICATES = 0.39;

/** What a crawler meets: URLs in the order of their coming, and each of them once. */
export interface Mix {
  readonly stream: readonly string[];
  /** In the order of first coming. */
  readonly distinct: readonly string[];
}

export function mixOf(stream: readonly string[]): Mix {
  return { stream, distinct: [...new Set(stream)] };
}

/** Share of a mix that was in it before. */
export function duplicateShare({ stream, distinct }: Mix): number {
  return stream.length === 0 ? 0 : 1 - distinct.length / stream.length;
}

/** Samples that are looked at to find one with the share of duplicates of the whole. */
const CANDIDATES = 8;

/**
 * About `count` of the URLs, in their order. A URL is taken with all its repeats or not at all: the beginning of a list
 * sorted by name, or every tenth line, would not keep the share of duplicates. As some URLs have thousands of repeats,
 * the best of a few such samples is taken.
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

/** `count` made-up URLs, of which a share REAL_DUPLICATES came before, any of the earlier ones as likely. */
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
