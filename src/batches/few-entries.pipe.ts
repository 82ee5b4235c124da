import { Inject, Injectable, mixin, type PipeTransform, type Type } from '@nestjs/common';
import { Config } from '../config/config.js';
import { invalid } from '../errors/problem.js';
import { jsonBatch } from './entries.js';

/** Entries that are explained in one request at most. */
export const MOST_EXPLAINED = 100;
/** Their characters together, unless an entry may have more: each may be answered with a text of its own for every rule. */
const MOST_CHARACTERS = 65_536;

/** `@Body(FewEntriesPipe('items')) items: readonly string[]`: the entries of a body that are to be explained. */
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
