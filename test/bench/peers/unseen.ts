import { HttpClient } from '../http-client.js';
import type { Workers } from '../measured.js';
import { assertSetUp } from '../row.js';
import { BATCH } from '../workload.js';
import { ERROR_RATE, type Contender, type Verb } from './contender.js';

/** The routes for items, which are taken unchanged, and for URLs, which are normalised first. */
const ROUTES = {
  items: { collection: 'filters', field: 'items', add: 'add', check: 'check', remove: 'remove' },
  urls: { collection: 'visited-sets', field: 'urls', add: 'visit', check: 'check', remove: 'forget' },
} as const;

/** The results that mean new, present and removed. */
const HITS: Readonly<Record<Verb, ReadonlySet<boolean | string>>> = {
  add: new Set([true, 'new']),
  check: new Set([true, 'seen']),
  remove: new Set(['removed', 'forgotten']),
};

/** One of the service's filters or visited sets, over HTTP. Calls include building their bodies. */
export class Unseen implements Contender {
  readonly name: string;
  readonly share = 1;
  readonly batch = BATCH;
  readonly removes = true;
  private readonly http: HttpClient;
  private generation = 0;

  constructor(
    store: 'embedded' | 'redis',
    private readonly kind: keyof typeof ROUTES,
    port: number,
    readonly width: number,
    readonly workers: Workers,
  ) {
    this.name = `unseen-${store}-${kind}`;
    this.http = new HttpClient(port, width);
  }

  async reset(capacity: number): Promise<void> {
    const { collection } = ROUTES[this.kind];
    if (this.generation > 0) await this.http.delete(this.path);
    this.generation++;
    const type = this.kind === 'items' ? { type: 'counting' } : {};
    const body = { name: this.set, capacity, errorRate: ERROR_RATE, ...type };
    await this.http.post(`/v1/${collection}`, Buffer.from(JSON.stringify(body)));
  }

  async call(verb: Verb, items: readonly string[]): Promise<number> {
    const { field, [verb]: route } = ROUTES[this.kind];
    const body = Buffer.from(JSON.stringify({ [field]: items }));
    const { text } = await this.http.post(`${this.path}/${field}/${route}`, body);
    const { results } = JSON.parse(text) as { results: (boolean | string)[] };
    assertSetUp(results.length === items.length, `${this.name} answers every item of a batch`);
    let hits = 0;
    for (const result of results) if (HITS[verb].has(result)) hits++;
    return hits;
  }

  async bytes(): Promise<number> {
    const { text } = await this.http.get(this.path);
    return (JSON.parse(text) as { memoryBytes: number }).memoryBytes;
  }

  close(): Promise<void> {
    this.http.close();
    return Promise.resolve();
  }

  /** Uses a new set name each time, because clearing a set does not free its memory. */
  private get set(): string {
    return `peer-${this.kind}-${this.generation}`;
  }

  private get path(): string {
    return `/v1/${ROUTES[this.kind].collection}/${this.set}`;
  }
}
