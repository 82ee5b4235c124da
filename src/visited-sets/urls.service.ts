import { Injectable } from '@nestjs/common';
import type { Filter, Operation } from '#store';
import type { BatchResult, BatchTask } from '../batches/batch.js';
import { named, noCounts, tally, type Verdicts } from '../batches/tally.js';
import { Membership } from '../filters/membership.js';
import { OpenFilters } from '../filters/open-filters.js';
import { UrlIdentity, type IdentifiedUrls } from './url-identity.js';

/** Beyond the bytes of the port, which index the verdicts below. */
const INVALID = 3;

const MARK: Verdicts = verdicts('seen', 'new');
const CHECK: Verdicts = verdicts('unseen', 'seen');
const FORGET: Verdicts = verdicts('absent', 'forgotten', 'saturated');

function verdicts(...names: string[]): Verdicts {
  const table = [...named(...names)];
  table[INVALID] = { name: 'invalid', result: 'invalid' };
  return table;
}

/** What the routes `urls/*` do with a batch. */
@Injectable()
export class UrlsService {
  constructor(
    private readonly filters: OpenFilters,
    private readonly membership: Membership,
    private readonly identity: UrlIdentity,
  ) {}

  /** Marks visited and queues what was new, in one atomic step. */
  discover(name: string): BatchTask<Operation> {
    return this.task('discover', name, MARK, (filter, { keys, urls }, operation) =>
      this.membership.add(filter, keys, operation, urls),
    );
  }

  /** Marks visited without queueing. */
  visit(name: string): BatchTask<Operation> {
    return this.task('visit', name, MARK, (filter, { keys }, operation) =>
      this.membership.add(filter, keys, operation),
    );
  }

  check(name: string): BatchTask<number> {
    return this.task('check-url', name, CHECK, (filter, { keys }, deadline) =>
      this.membership.check(filter, keys, deadline),
    );
  }

  forget(name: string): BatchTask<Operation> {
    return this.task('forget', name, FORGET, (filter, { keys }, operation) =>
      this.membership.remove(filter, keys, operation),
    );
  }

  private task<C>(
    verb: string,
    name: string,
    table: Verdicts,
    act: (filter: Filter, batch: IdentifiedUrls, call: C) => Promise<Uint8Array>,
  ): BatchTask<C> {
    return {
      verb,
      rule: 'url',
      noCounts: () => noCounts(table),
      admit: () => this.filters.open(name, 'visited-set'),
      run: (urls, call) =>
        this.filters.on(name, 'visited-set', async (filter) => {
          const batch = await this.identity.identify(filter, urls);
          return results(urls.length, batch, await act(filter, batch, call), table);
        }),
      json: (result) => result,
    };
  }
}

/** The answers for the valid URLs, put back in their places among the invalid ones. */
function results(
  count: number,
  { places, invalid }: IdentifiedUrls,
  answers: Uint8Array,
  table: Verdicts,
): BatchResult {
  if (invalid.length === 0) return { ...tally(answers, table), invalid };
  const bytes = new Uint8Array(count).fill(INVALID);
  for (let i = 0; i < places.length; i++) bytes[places[i] as number] = answers[i] as number;
  return { ...tally(bytes, table), invalid };
}
