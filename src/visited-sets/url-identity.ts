import { Inject, Injectable } from '@nestjs/common';
import type { Filter } from '#store';
import { compileProfile, InvalidUrl, normaliseProfile, type UrlCanonicaliser } from '#url-key';
import type { InvalidEntry } from '../batches/batch.js';
import { isLonger } from '../batches/limits.js';
import { Config } from '../config.js';
import { PORTION, turn } from '../event-loop/turn.js';

/** A batch of URLs by identity: parallel arrays of the valid ones, and why the others are not. */
export interface IdentifiedUrls {
  readonly keys: readonly string[];
  /** The valid URLs as they came in. */
  readonly urls: readonly string[];
  /** Of each valid URL, its place in the batch. */
  readonly places: readonly number[];
  readonly invalid: readonly InvalidEntry[];
}

/** What a URL costs beside its characters, in characters that cost as much. */
const CHARACTERS_A_URL = 16;
/** Why a URL is invalid that has more bytes than an item may have, whatever it is. */
const TOO_LONG = 'too long';

const MOST_PROFILES = 1_000;

/** Joins a visited set with the URL profile it was made with. */
@Injectable()
export class UrlIdentity {
  /** Compiled profiles by generation. */
  private readonly compiled = new Map<string, UrlCanonicaliser>();

  constructor(@Inject(Config) private readonly config: Config) {}

  async identify(filter: Filter, batch: readonly string[]): Promise<IdentifiedUrls> {
    const canonicaliser = this.canonicaliserOf(filter);
    const { maxItemBytes } = this.config;
    const keys: string[] = [];
    const urls: string[] = [];
    const places: number[] = [];
    const invalid: InvalidEntry[] = [];
    let unasked = 0;
    for (let index = 0; index < batch.length; index++) {
      const url = batch[index] as string;
      unasked += CHARACTERS_A_URL + url.length;
      if (unasked > PORTION) {
        unasked = 0;
        if (turn.isSpent()) await turn.next();
      }
      if (isLonger(url, maxItemBytes)) {
        invalid.push({ index, reason: TOO_LONG });
        continue;
      }
      const key = canonicaliser.key(url);
      if (key instanceof InvalidUrl) {
        invalid.push({ index, reason: key.reason });
      } else {
        keys.push(key);
        urls.push(url);
        places.push(index);
      }
    }
    return { keys, urls, places, invalid };
  }

  private canonicaliserOf({ generation, urlProfile }: Filter): UrlCanonicaliser {
    let canonicaliser = this.compiled.get(generation);
    if (canonicaliser === undefined) {
      if (this.compiled.size >= MOST_PROFILES) this.compiled.clear();
      canonicaliser = compileProfile(normaliseProfile(urlProfile));
      this.compiled.set(generation, canonicaliser);
    }
    return canonicaliser;
  }
}
