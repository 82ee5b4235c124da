import { HttpClient, inFlight } from './http-client.js';
import { assertSetUp } from './row.js';
import { BATCH, lineBody } from './workload.js';

const FILL_LINES = 100_000;

export type Verb = 'add' | 'check' | 'remove';
export type Kind = 'filter' | 'visited-set';

/** For each kind: its paths, and each verb's result for an item that it stores, finds or removes. */
const KINDS = {
  filter: {
    path: '/v1/filters',
    items: 'items',
    names: { add: 'add', check: 'check', remove: 'remove' },
    hits: { add: true, check: true, remove: 'removed' },
  },
  'visited-set': {
    path: '/v1/visited-sets',
    items: 'urls',
    names: { add: 'visit', check: 'check', remove: 'forget' },
    hits: { add: 'new', check: 'seen', remove: 'forgotten' },
  },
} as const;

/** A fast client for one of the service's counting filters or visited sets. */
export class FilterClient {
  private readonly http: HttpClient;

  constructor(
    port: number,
    readonly name: string,
    /** Requests in flight. Initially the number of connections. */
    public width: number,
    private readonly kind: Kind = 'filter',
  ) {
    this.http = new HttpClient(port, width);
  }

  async create(
    capacity: number,
    errorRate: number,
    growth = 'none',
    maxAgeSeconds?: number,
  ): Promise<FilterView> {
    const type = this.kind === 'filter' ? 'counting' : undefined;
    const body = { name: this.name, type, capacity, errorRate, growth, maxAgeSeconds };
    const reply = await this.http.post(KINDS[this.kind].path, Buffer.from(JSON.stringify(body)));
    assertSetUp(reply.status === 201, `${this.kind} ${this.name} was created: ${reply.status} ${reply.text}`);
    return JSON.parse(reply.text) as FilterView;
  }

  async clear(): Promise<void> {
    await this.http.post(`${this.base}/clear`, Buffer.alloc(0));
  }

  async view(): Promise<FilterView> {
    return JSON.parse((await this.http.get(this.base)).text) as FilterView;
  }

  /** Sends every body, `width` at a time. Returns how many items were new, present or removed. */
  async batches(verb: Verb, bodies: readonly Buffer[], batch = BATCH): Promise<number> {
    const path = this.path(verb);
    const hit = KINDS[this.kind].hits[verb];
    let hits = 0;
    await inFlight(this.width, bodies.length, async (i) => {
      const { text } = await this.http.post(path, bodies[i] as Buffer);
      const { results } = JSON.parse(text) as { results: (boolean | string)[] };
      assertSetUp(results.length === batch, `${verb} answers every item of a batch`);
      for (const result of results) if (result === hit) hits++;
    });
    return hits;
  }

  /** Sends one item per call. Returns each call's time in ms. */
  async singles(verb: Verb, bodies: readonly Buffer[], expected: string): Promise<number[]> {
    const path = this.path(verb);
    const times: number[] = [];
    await inFlight(this.width, bodies.length, async (i) => {
      const from = performance.now();
      const { text } = await this.http.post(path, bodies[i] as Buffer);
      times.push(performance.now() - from);
      assertSetUp(text === expected, `${verb} of one item answers ${expected}, not ${text}`);
    });
    return times;
  }

  /** Sends one streamed body. Returns the counts from the response's last line. */
  async stream(
    verb: Verb,
    format: 'ndjson' | 'text',
    body: Buffer,
    answers: boolean,
  ): Promise<Record<string, number>> {
    const type = format === 'ndjson' ? 'application/x-ndjson' : 'text/plain';
    const path = `${this.path(verb)}${answers ? '' : '?results=none'}`;
    const { text } = await this.http.post(path, body, type);
    const last = text.slice(text.lastIndexOf('\n', text.length - 2) + 1);
    const { done, counts } = JSON.parse(last) as { done?: boolean; counts: Record<string, number> };
    assertSetUp(done === true, `a stream ends with its counts, not ${last.slice(0, 200)}`);
    return counts;
  }

  /** Adds made-up URLs fast. */
  async fill(first: number, count: number): Promise<void> {
    await inFlight(2, Math.ceil(count / FILL_LINES), async (i) => {
      const from = i * FILL_LINES;
      const body = lineBody('text', first + from, Math.min(FILL_LINES, count - from));
      await this.stream('add', 'text', body, false);
    });
  }

  /** Opens a sync with the filter's own parameters. Returns its id. */
  async openSync(): Promise<string> {
    const reply = await this.http.post(`${this.base}/syncs`, Buffer.from('{}'));
    return (JSON.parse(reply.text) as { id: string }).id;
  }

  /** Sends one streamed list to a sync. Returns the counts from the response's last line. */
  async keep(sync: string, body: Buffer): Promise<Record<string, number>> {
    const path = `${this.base}/syncs/${sync}/${KINDS[this.kind].items}?results=none`;
    const { text } = await this.http.post(path, body, 'text/plain');
    const { done, counts } = JSON.parse(text) as { done?: boolean; counts: Record<string, number> };
    assertSetUp(done === true, `a list ends with its counts, not ${text.slice(0, 200)}`);
    return counts;
  }

  async commit(sync: string): Promise<SyncView> {
    const path = `${this.base}/syncs/${sync}/commit`;
    return JSON.parse((await this.http.post(path, Buffer.from('{"force":true}'))).text) as SyncView;
  }

  /** The first value with this name in the service's metrics. */
  async metric(name: string): Promise<number> {
    const { text } = await this.http.get('/metrics');
    return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
  }

  close(): void {
    this.http.close();
  }

  private get base(): string {
    return `${KINDS[this.kind].path}/${this.name}`;
  }

  private path(verb: Verb): string {
    const { items, names } = KINDS[this.kind];
    return `${this.base}/${items}/${names[verb]}`;
  }
}

/** The parts of a sync used by rows. */
export interface SyncView {
  readonly state: string;
  readonly wouldForget: number;
}

/** The parts of a filter's description used by rows. */
export interface FilterView {
  readonly memoryBytes: number;
  readonly items: number;
  readonly layers: readonly object[];
  readonly sync?: object;
}
