import { StoreError } from '../errors.js';
import { dataLost } from '../refusals.js';
import type { Catalogue } from './catalogue.js';
import type { Connection } from './connection.js';
import type { RedisFilter } from './filter.js';
import type { Stragglers } from './stragglers.js';

/**
 * Finds out why a script has found a segment not as the filter's handle has it: since a sync has begun or ended, also by the hand
 * of another instance; since the filter is gone; or since data is lost.
 */
export class Views {
  /** Goes on with a commit of which the catalogue says that it is under way. */
  goOn: (filter: RedisFilter, deadline: number) => Promise<void> = () => Promise.resolve();

  constructor(
    private readonly connection: Connection,
    private readonly catalogue: Catalogue,
    private readonly stragglers: Stragglers,
  ) {}

  /**
   * Has `filter` know what a segment is like now: then the call can be made again. Throws if that is what the caller has `sent` for
   * its token.
   */
  async look(filter: RedisFilter, segment: number, sent: string, deadline: number): Promise<void> {
    if (Date.now() > deadline) {
      throw new StoreError('STORE_UNAVAILABLE', `filter ${filter.name} was changed again and again`);
    }
    const { entry } = await this.catalogue.read(filter.name, deadline);
    const isCurrent = entry?.generation === filter.generation && (entry.base ?? 0) === filter.base;
    if (!isCurrent || entry.state !== 'ready') throw await this.catalogue.explainLoss(filter);
    if (entry.sync?.stage === 'committing') {
      await this.goOn(filter, deadline);
      throw await this.catalogue.explainLoss(filter);
    }
    filter.learn(entry.sync);
    const { meta } = filter.segments[segment] as (typeof filter.segments)[0];
    const { client } = this.connection;
    const token = await this.connection.repeat(() => client.hget(meta, 'generation'), deadline);
    filter.sees(segment, token);
    if (filter.tokenOf(segment) !== sent) return;
    const { name, generation, tags } = filter;
    const isEnded = await this.stragglers.end(name, generation, tags[segment] as string, deadline);
    if (!isEnded) throw dataLost(filter.name);
  }
}
