import type { Dropped, Host, HostList, HostSettings } from './api-types.js';
import type { CallOptions, ChangeOptions } from './batches.js';
import type { Service } from './handle.js';
import { pagesOf, type PageOptions } from './pages.js';
import { partOfPath } from './path.js';
import { randomKey } from './random-key.js';

/**
 * The hosts of a visited set with `perHost`. A host is a name or an address as in a URL, without user info or port.
 * Calls throw ValidationError for a text that isn't a host, and for a set without `perHost`.
 */
export class Hosts {
  constructor(
    private readonly service: Service,
    /** The set's path, which starts with `/v1`. */
    private readonly path: string,
  ) {}

  /**
   * Lists the hosts with URLs in the queue, with URLs that count towards `maxUrls`, or with settings. If other hosts
   * come and go between the pages, a host may be listed twice.
   */
  async *list(options: PageOptions = {}): AsyncGenerator<Host> {
    const pages = pagesOf<HostList>(this.service.requests, `${this.path}/hosts`, options);
    for await (const { hosts } of pages) yield* hosts;
  }

  /** Describes a host. Throws NotFoundError for a host that `list` would not list. */
  get(host: string, { signal }: CallOptions = {}): Promise<Host> {
    return this.service.requests.json({ method: 'GET', path: this.at(host), repeatable: true, signal });
  }

  /**
   * Replaces a host's settings. If a member is absent, the set's setting applies. With `blockedUntil`, blocks the host.
   */
  set(
    host: string,
    settings: HostSettings,
    { idempotencyKey = randomKey(), signal }: ChangeOptions = {},
  ): Promise<Host> {
    return this.service.requests.json({
      method: 'PUT',
      path: this.at(host),
      json: settings,
      key: idempotencyKey,
      repeatable: true,
      signal,
    });
  }

  /** Drops a host's URLs from the queue. They stay visited. Returns their number. */
  async drop(host: string, { idempotencyKey = randomKey(), signal }: ChangeOptions = {}): Promise<number> {
    const { dropped } = await this.service.requests.json<Dropped>({
      method: 'DELETE',
      path: this.at(host),
      key: idempotencyKey,
      repeatable: true,
      signal,
    });
    return dropped;
  }

  private at(host: string): string {
    return `${this.path}/hosts/${partOfPath(host, 'a host must be a name or an address')}`;
  }
}
