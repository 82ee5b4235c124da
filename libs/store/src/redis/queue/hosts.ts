import { emptyHost } from '../../empty-host.js';
import { StoreError } from '../../errors.js';
import {
  MAX_LISTED_HOSTS,
  type Filter,
  type HostPage,
  type Hosts,
  type HostSettings,
  type HostView,
  type Operation,
} from '../../port/index.js';
import { assertHostSettings, assertKnowsHosts, called, noMoreHosts } from '../../refusals.js';
import { RedisFilter } from '../layout/filter.js';
import { hostLimits } from '../scripts/host-lanes.js';
import {
  CHUNKS_DROPPED,
  dropChunksScript,
  dropHostScript,
  MORE_DUE,
  setHostScript,
} from '../scripts/hosts.js';
import { packSettings } from '../scripts/lane-records.js';
import type { Script } from '../scripts/script.js';
import type { Segments } from '../segments/segments.js';
import type { Sweeper } from '../segments/sweeper.js';
import { laneOf } from './entry-pages.js';
import { hostViewOf, readLanes } from './lane-pages.js';
import { LanesReader } from './lanes-reader.js';
import { ListedHosts } from './listed-hosts.js';
import type { ReadPage } from './queue-reader.js';

/** How many scripts may bring back due entries before a host's settings are replaced. */
const MOST_SETTLED = 1_000;

interface Parts {
  readonly segments: Segments;
  readonly sweeper: Sweeper;
  readonly pagesOf: (filter: RedisFilter, segment: number) => ReadPage;
  /** Makes a filter's open sync keep a host's entries. Returns the argument for dropHostScript. */
  readonly keepHost: (filter: RedisFilter, host: string, deadline: number) => Promise<string>;
  readonly maxHosts: number;
}

/** A host's lane. */
interface Place {
  readonly filter: RedisFilter;
  readonly segment: number;
  readonly id: Buffer;
}

/** See the port for the guarantees of each method. */
export class RedisHosts implements Hosts {
  constructor(private readonly parts: Parts) {}

  async list(handle: Filter, limit: number, after?: string): Promise<HostPage> {
    assertKnowsHosts(handle);
    const filter = RedisFilter.of(handle);
    const most = Math.min(limit, MAX_LISTED_HOSTS);
    return new ListedHosts(filter, (segment) => this.lanesOf(filter, segment)).page(most, after);
  }

  async get(handle: Filter, host: string): Promise<HostView | undefined> {
    const { filter, segment, id } = placeOf(handle, host);
    const page = await this.lanesOf(filter, segment).lanes('lane', id);
    const [lane] = page.lanes;
    return lane && hostViewOf(lane, page, filter);
  }

  async set(handle: Filter, host: string, settings: HostSettings, operation: Operation): Promise<HostView> {
    const place = placeOf(handle, host);
    const { filter } = place;
    const { spread } = filter;
    assertHostSettings(filter, host, settings);
    const { maxAttempts = 0 } = filter;
    const args = [host, packSettings(settings), `${maxAttempts}`];
    let answer: Buffer;
    let left = MOST_SETTLED;
    do answer = await this.change(setHostScript, place, operation, [...args, left > 0 ? '1' : '0']);
    while (answer.toString('latin1') === MORE_DUE && left-- > 0);
    if (answer.length === 0) throw noMoreHosts(filter, Math.ceil(this.parts.maxHosts / spread), spread);
    const page = readLanes(answer);
    const [lane] = page.lanes;
    return (lane && hostViewOf(lane, page, filter)) ?? emptyHost(filter, host);
  }

  async drop(handle: Filter, host: string, operation: Operation): Promise<number> {
    const place = placeOf(handle, host);
    const { filter, segment, id } = place;
    const { segments, sweeper, keepHost } = this.parts;
    let answer = await this.change(dropHostScript, place, operation, ['']);
    if (answer.length === 0) {
      const kept = await keepHost(filter, host, operation.deadline);
      answer = await this.change(dropHostScript, place, operation, [kept]);
      if (answer.length === 0) throw keepAgain(filter);
    }
    const [held = 0, first = 0, end = 0] = answer.toString().split(' ').map(Number);
    if (held > 0) sweeper.marked(filter, [segment]);
    for (let from = first; from < end; from += CHUNKS_DROPPED) {
      const numbers = [from, Math.min(end, from + CHUNKS_DROPPED)];
      const script = { plain: dropChunksScript, hosts: dropChunksScript };
      await segments.changeQueue(script, filter, segment, [id, ...numbers], operation.deadline);
    }
    return held;
  }

  private async change(
    script: Script,
    { filter, segment, id }: Place,
    operation: Operation,
    args: readonly (string | Buffer)[],
  ): Promise<Buffer> {
    const field = `${script.name}:${operation.id}`;
    const change = { script, filter, segment, operation, field, args: [id, ...args] };
    return (await this.parts.segments.changeBinary(change)).answers;
  }

  private lanesOf(filter: RedisFilter, segment: number): LanesReader {
    const { pagesOf, maxHosts } = this.parts;
    return new LanesReader(pagesOf(filter, segment), hostLimits(filter, maxHosts));
  }
}

function placeOf(handle: Filter, host: string): Place {
  assertKnowsHosts(handle);
  const filter = RedisFilter.of(handle);
  return { filter, ...laneOf(filter, host) };
}

/** The error if the server restarted, or another sync was opened, after the entries were kept. */
function keepAgain(filter: RedisFilter): StoreError {
  return new StoreError(
    'STORE_UNAVAILABLE',
    `the queue of ${called(filter)} must be copied for a sync; retry`,
  );
}
