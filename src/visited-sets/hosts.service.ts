import { Inject, Injectable } from '@nestjs/common';
import type { Filter, Hosts, Operation } from '#store';
import { invalid, ProblemError, unwanted } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { DEFAULT_PAGE } from '../filters/filter.dto.js';
import { OpenFilters } from '../filters/open-filters.js';
import { Store } from '../store/store.token.js';
import { hostSettingsOf, type HostSettingsDto } from './host.dto.js';
import { hostView, type DroppedView, type HostListView, type HostView } from './host.view.js';
import { ListCursor } from './list-cursor.js';
import { UrlIdentity } from './url-identity.js';
import type { QueuePageQueryDto } from './visited-set.dto.js';

/** The hosts of a visited set with `perHost`. */
@Injectable()
export class HostsService {
  constructor(
    @Inject(Store) private readonly store: Store,
    private readonly filters: OpenFilters,
    private readonly identity: UrlIdentity,
  ) {}

  async list(name: string, { limit, cursor }: QueuePageQueryDto): Promise<HostListView> {
    return this.on(name, async (filter, hosts) => {
      const list = new ListCursor(filter, 'hosts');
      const page = await hosts.list(filter, Number(limit ?? DEFAULT_PAGE), list.open(cursor));
      return { hosts: page.hosts.map(hostView), ...list.nextOf(page.next) };
    });
  }

  async get(name: string, text: string): Promise<HostView> {
    return this.on(name, async (filter, hosts) => {
      const host = this.identity.hostIn(filter, text);
      const found = await hosts.get(filter, host);
      if (found) return hostView(found);
      throw new ProblemError(
        'HOST_NOT_FOUND',
        `host ${show(host)} is unknown to visited set "${name}": it has no queued URLs, no count and no settings`,
      );
    });
  }

  async set(name: string, text: string, dto: HostSettingsDto, operation: Operation): Promise<HostView> {
    const settings = hostSettingsOf(dto);
    return this.on(name, async (filter, hosts) => {
      const host = this.identity.hostIn(filter, text);
      if (dto.maxUrls !== undefined && filter.perHost?.maxUrls === undefined)
        throw unwanted('maxUrls', dto.maxUrls, `visited set "${name}" was created without perHost.maxUrls`);
      return hostView(await hosts.set(filter, host, settings, operation));
    });
  }

  async drop(name: string, text: string, operation: Operation): Promise<DroppedView> {
    return this.on(name, async (filter, hosts) => ({
      dropped: await hosts.drop(filter, this.identity.hostIn(filter, text), operation),
    }));
  }

  /** Throws VALIDATION_FAILED if the set was created without `perHost`. */
  private on<T>(name: string, action: (filter: Filter, hosts: Hosts) => Promise<T>): Promise<T> {
    return this.filters.withFilter(name, 'visited-set', (filter) => {
      if (!filter.perHost)
        throw invalid(
          '#/name',
          `visited set "${name}" was created without perHost; create one with perHost to manage hosts`,
        );
      return action(filter, this.store.hosts);
    });
  }
}
