import { HttpClient, inFlight } from './http-client.js';
import { assertSetUp } from './row.js';

const LEASE_SECONDS = 3_600;

export type UrlVerb = 'discover' | 'visit' | 'check' | 'forget';

/** A fast client for one of the service's visited sets. */
export class QueueClient {
  private readonly http: HttpClient;
  private readonly path: string;

  constructor(
    port: number,
    private readonly name: string,
    connections: number,
  ) {
    this.http = new HttpClient(port, connections);
    this.path = `/v1/visited-sets/${name}`;
  }

  async create(capacity: number, errorRate: number, more: object = {}): Promise<void> {
    const spec = { name: this.name, capacity, errorRate, ...more };
    const { status, text } = await this.post('/v1/visited-sets', spec);
    assertSetUp(status === 201, `visited set ${this.name} was created: ${status} ${text}`);
  }

  async clear(): Promise<void> {
    await this.http.post(`${this.path}/clear`, Buffer.alloc(0));
  }

  async drop(): Promise<void> {
    await this.http.delete(this.path);
  }

  /** Sends a body of lines, with more options in the query. Returns how many URLs got each verdict. */
  async stream(verb: UrlVerb, lines: Buffer, more = ''): Promise<Record<string, number>> {
    const path = `${this.path}/urls/${verb}?results=none${more}`;
    const { text } = await this.http.post(path, lines, 'text/plain');
    const { done, counts } = JSON.parse(text) as { done?: boolean; counts: Record<string, number> };
    assertSetUp(done === true, `a stream ends with its counts, not ${text.slice(0, 200)}`);
    return counts;
  }

  /** One call for each URL, `width` at a time. */
  async singles(verb: UrlVerb, urls: readonly string[], width: number): Promise<void> {
    await inFlight(width, urls.length, async (i) => {
      await this.post(`${this.path}/urls/${verb}`, { urls: [urls[i]] });
    });
  }

  /** Leases and acknowledges `max` URLs, `times` times, `width` at a time. Returns the number of URLs. */
  async work(times: number, max: number, width: number): Promise<number> {
    let done = 0;
    await inFlight(width, times, async () => {
      done += await this.workOnce(max);
    });
    return done;
  }

  /** Like `work`, until nothing is left. `how`: options for the acknowledgements. */
  async drain(max: number, width: number, how?: object): Promise<number> {
    let done = 0;
    await inFlight(width, width, async () => {
      for (let some = -1; some !== 0; done += some) some = await this.workOnce(max, how);
    });
    return done;
  }

  /** Leases at most `max` URLs. Returns their leases' ids. */
  async lease(max: number, how: { leaseSeconds?: number; maxPerHost?: number } = {}): Promise<string[]> {
    const asked = { leaseSeconds: LEASE_SECONDS, ...how, max };
    const { text } = await this.post(`${this.path}/queue/lease`, asked);
    return (JSON.parse(text) as { urls: { id: string }[] }).urls.map(({ id }) => id);
  }

  async ack(ids: readonly string[], how?: object): Promise<void> {
    const { status, text } = await this.post(`${this.path}/queue/ack`, { ids, ...how });
    assertSetUp(status === 200, `URLs are acknowledged: ${status} ${text.slice(0, 200)}`);
  }

  /** Drops a host's URLs from the queue. */
  async dropHost(host: string): Promise<void> {
    await this.http.delete(`${this.path}/hosts/${host}`);
  }

  /** Reads all pages of the queue. Returns the number of URLs. */
  async list(pageSize: number): Promise<number> {
    let listed = 0;
    for (let query = '', more = true; more;) {
      const { text } = await this.http.get(`${this.path}/queue/urls?limit=${pageSize}${query}`);
      const { urls, next } = JSON.parse(text) as { urls: readonly object[]; next?: string };
      listed += urls.length;
      more = next !== undefined;
      query = `&cursor=${next ?? ''}`;
    }
    return listed;
  }

  /** Drops URLs from the whole queue, or counts them. Returns the number of matching URLs. */
  async prune(asked: object): Promise<number> {
    let found = 0;
    for (let cursor: string | undefined, more = true; more;) {
      const { text } = await this.post(`${this.path}/queue/drop`, { ...asked, cursor });
      const { matched, next } = JSON.parse(text) as { matched: number; next?: string };
      found += matched;
      more = next !== undefined;
      cursor = next;
    }
    return found;
  }

  async view(): Promise<{ readonly memoryBytes: number }> {
    const { text } = await this.http.get(this.path);
    return JSON.parse(text) as { memoryBytes: number };
  }

  close(): void {
    this.http.close();
  }

  private async workOnce(max: number, how?: object): Promise<number> {
    const ids = await this.lease(max);
    if (ids.length > 0) await this.ack(ids, how);
    return ids.length;
  }

  private post(path: string, body: object): Promise<{ status: number; text: string }> {
    return this.http.post(path, Buffer.from(JSON.stringify(body)));
  }
}
