import { Inject, Injectable, mixin, type PipeTransform, type Type } from '@nestjs/common';
import { Config } from '../config/config.js';
import { invalid } from '../errors/problem.js';
import { jsonBatch } from './entries.js';

/** Maximum number of entries to explain in one request. */
export const MOST_EXPLAINED = 100;
/**
 * Maximum total length in characters, or the limit for one entry if that is higher. The answer may repeat each entry
 * for every rule.
 */
const MOST_CHARACTERS = 65_536;

/** `@Body(FewEntriesPipe('items')) items: readonly string[]`: the entries to explain. */
export function FewEntriesPipe(entries: 'items' | 'urls'): Type<PipeTransform<unknown, readonly string[]>> {
  @Injectable()
  class Pipe implements PipeTransform<unknown, readonly string[]> {
    constructor(@Inject(Config) private readonly config: Pick<Config, 'maxItemBytes'>) {}

    transform(body: unknown): readonly string[] {
      const { maxItemBytes } = this.config;
      const batch = jsonBatch(body, entries, { maxItems: MOST_EXPLAINED, maxItemBytes });
      const most = Math.max(MOST_CHARACTERS, maxItemBytes);
      const characters = batch.reduce((sum, { length }) => sum + length, 0);
      if (characters <= most) return batch;
      throw invalid(
        `#/${entries}`,
        `${entries} must have at most ${most} characters in total, not ${characters}`,
      );
    }
  }
  return mixin(Pipe);
}
