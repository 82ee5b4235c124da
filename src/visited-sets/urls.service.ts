import { Injectable } from '@nestjs/common';
import type { Filter, Finding, Operation } from '#store';
import { hostOfKey } from '#url-key';
import type { BatchResult } from '../batches/batch.js';
import type { Discovery } from '../batches/entries.js';
import { named, tally, type Verdicts } from '../batches/tally.js';
import { InspectionService } from '../filters/inspection.service.js';
import { findingView, type ExplainedUrlsView, type ExplainedUrlView } from '../filters/inspection.view.js';
import { Membership } from '../filters/membership.js';
import { OpenFilters } from '../filters/open-filters.js';
import { refuseDelay, type Order } from './order.js';
import { encodeQueued } from './queued-url.js';
import { refuseTtl } from './ttl.js';
import { UrlIdentity, type IdentifiedUrls } from './url-identity.js';

/**
 * The index of the verdict for an invalid URL. The other verdicts have the port's answer bytes as indexes, so this is
 * the next number.
 */
const INVALID = 3;

const VISIT: Verdicts = verdicts('seen', 'new');
/** `limited` occurs only in sets with `perHost`. */
const DISCOVER: Verdicts = verdicts('seen', 'new', 'limited');
const CHECK: Verdicts = verdicts('unseen', 'seen');
const FORGET: Verdicts = verdicts('absent', 'forgotten', 'saturated');
const KEEP: Verdicts = verdicts('kept', 'new', 'forgotten');

function verdicts(...names: string[]): Verdicts {
  const table = [...named(...names)];
  table[INVALID] = { name: 'invalid', result: 'invalid' };
  return table;
}

/** Options of `discover`. */
export interface DiscoverOptions extends Order {
  /** In a set that ages: how long the URLs stay seen. */
  readonly ttlMs?: number | undefined;
}

/**
 * Executes the routes `urls/*`, for a JSON batch or one of a stream's blocks. Throws VISITED_SET_NOT_FOUND and port
 * errors.
 */
@Injectable()
export class UrlsService {
  constructor(
    private readonly filters: OpenFilters,
    private readonly membership: Membership,
    private readonly identity: UrlIdentity,
    private readonly inspection: InspectionService,
  ) {}

  /** Also throws VALIDATION_FAILED if the set can't have these options. */
  async open(name: string, options: DiscoverOptions = {}): Promise<Filter> {
    const filter = await this.filters.open(name, 'visited-set');
    refuseOptions(filter, options);
    return filter;
  }

  /**
   * Visits URLs and queues the new ones, in one atomic step, unless `perHost` limits them.
   */
  discover(
    name: string,
    batch: readonly Discovery[],
    operation: Operation,
    options: DiscoverOptions = {},
  ): Promise<BatchResult> {
    const table = ({ perHost }: Filter): Verdicts => (perHost ? DISCOVER : VISIT);
    return this.judge(name, batch, table, (filter, { keys, urls }) => {
      refuseOptions(filter, options);
      const queued = { payloads: urls.map(encodeQueued), hosts: hostsOf(filter, keys) };
      return this.membership.add(filter, keys, operation, { ...options, ...queued });
    });
  }

  /** Visits URLs without queueing them. In a set that ages, they stay seen for `ttlMs`. */
  visit(name: string, batch: readonly string[], operation: Operation, ttlMs?: number): Promise<BatchResult> {
    return this.judge(name, batch, VISIT, (filter, { keys }) => {
      refuseTtl(filter, ttlMs);
      return this.membership.add(filter, keys, operation, { hosts: hostsOf(filter, keys), ttlMs });
    });
  }

  check(name: string, batch: readonly string[], deadline: number): Promise<BatchResult> {
    return this.judge(name, batch, CHECK, (filter, { keys }) =>
      this.membership.check(filter, keys, deadline),
    );
  }

  forget(name: string, batch: readonly string[], operation: Operation): Promise<BatchResult> {
    return this.judge(name, batch, FORGET, (filter, { keys }) =>
      this.membership.remove(filter, keys, operation),
    );
  }

  /** Adds URLs to a sync's input list. */
  keep(name: string, sync: string, batch: readonly string[], operation: Operation): Promise<BatchResult> {
    return this.judge(name, batch, KEEP, (filter, { keys }) =>
      this.membership.keep(filter, sync, keys, operation, hostsOf(filter, keys)),
    );
  }

  /** Explains the results for a few URLs: their keys, and those keys' cells. */
  explain(name: string, urls: readonly string[]): Promise<ExplainedUrlsView> {
    return this.filters.withFilter(name, 'visited-set', async (filter) => {
      const explained = await this.identity.explain(filter, urls);
      const valid = explained.filter((one) => 'key' in one);
      const found = await this.inspection.find(
        filter,
        valid.map(({ key }) => key),
      );
      const findings = new Map(valid.map((one, n) => [one, found[n] as Finding]));
      return {
        urls: explained.map((one): ExplainedUrlView => {
          const finding = 'key' in one && findings.get(one);
          return finding ? { ...one, ...findingView(filter, finding) } : one;
        }),
      };
    });
  }

  /** Runs `ask` on a batch's valid URLs, and puts the answers back in their places between the invalid URLs. */
  private judge(
    name: string,
    batch: readonly Discovery[],
    table: Verdicts | ((filter: Filter) => Verdicts),
    ask: (filter: Filter, valid: IdentifiedUrls) => Promise<Uint8Array>,
  ): Promise<BatchResult> {
    return this.filters.withFilter(name, 'visited-set', async (filter) => {
      const valid = await this.identity.identify(filter, batch);
      const { places, invalid } = valid;
      const answers = await ask(filter, valid);
      const verdicts = typeof table === 'function' ? table(filter) : table;
      if (invalid.length === 0) return { ...tally(answers, verdicts), invalid };
      const bytes = new Uint8Array(batch.length).fill(INVALID);
      for (let i = 0; i < places.length; i++) bytes[places[i] as number] = answers[i] as number;
      return { ...tally(bytes, verdicts), invalid };
    });
  }
}

function refuseOptions(filter: Filter, { ttlMs, delayMs }: DiscoverOptions): void {
  refuseTtl(filter, ttlMs);
  refuseDelay(filter, delayMs, ttlMs);
}

/** The URL keys' hosts, for a set with perHost. */
function hostsOf({ perHost }: Filter, keys: readonly string[]): string[] | undefined {
  return perHost && keys.map(hostOfKey);
}
