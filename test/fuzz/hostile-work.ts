import { bodyOf, type Shape } from './shapes.js';

const ALL_RULES = {
  base: 'safe',
  ...Object.fromEntries(
    [
      'stripTracking',
      'stripSession',
      'formQuery',
      'sortValues',
      'dropBlank',
      'stripTrailingSlash',
      'stripWww',
    ]
      .concat(['ignoreScheme', 'stripDirIndex', 'collapseSlashes', 'stripUserinfo', 'dropFragments'])
      .map((name) => [name, true]),
  ),
  dropParams: Array.from({ length: 1_000 }, (_, i) => `drop${i}`),
};
const VERBS = { urls: ['discover', 'visit', 'check', 'forget'], items: ['add', 'check', 'remove', 'count'] };
const TYPES = {
  json: 'application/json',
  raw: 'application/json',
  ndjson: 'application/x-ndjson',
  text: 'text/plain',
};
const SETS = '/v1/visited-sets';
/** Each character becomes six in JSON. */
const ESCAPES = '\u0001'.repeat(8_000);

/** How many URLs, and the capacity of the filters for them. */
export interface Amounts {
  readonly capacity: number;
  /** URLs of thousands of control characters each. */
  readonly long: number;
  readonly short: number;
  /** URLs in each of twelve batches, and in one with as many hosts. */
  readonly batch: number;
}

/** Sends the requests that cost a service the most work. Rejects on a 5xx, except if a filter is full. */
export class HostileWork {
  private requests = 0;

  private constructor(private readonly url: string) {}

  /** Creates the filters that shapes are sent to. */
  static async at(url: string, capacity: number): Promise<HostileWork> {
    const work = new HostileWork(url);
    const create = { capacity, errorRate: 1e-6 };
    await work.post(SETS, { name: 'urls', ...create });
    await work.post(SETS, { name: 'all-rules', ...create, urlProfile: ALL_RULES });
    await work.post('/v1/filters', { name: 'items', type: 'counting', ...create });
    // The service builds the document once, so do it before the test.
    await work.get('/openapi.json');
    return work;
  }

  async send(shape: Shape): Promise<void> {
    const number = ++this.requests;
    const odd = encodeURIComponent(`${shape.head}${shape.fragment.repeat(4_000)}`).slice(0, 12_000);
    const { target } = shape;
    if (target === 'path') await this.get(`/v1/filters/${odd}`);
    else if (target === 'query') await this.get(`/v1/filters?cursor=${odd}&limit=${odd.slice(0, 1_000)}`);
    else if (target === 'header')
      await this.get('/v1/filters', { authorization: `Bearer ${odd}`, cookie: odd });
    else if (target === 'plan') {
      const errorRate = 1e-9 * (1 + number / 1e6);
      await this.post('/v1/plan', { type: 'counting', capacity: 1e9, errorRate });
    } else if (target === 'create') await this.post(SETS, bodyOf(shape, number));
    else {
      const verb = VERBS[target === 'items' ? 'items' : 'urls'][shape.verb];
      const base = target === 'items' ? '/v1/filters/items/items' : `${SETS}/${target}/urls`;
      await this.post(`${base}/${verb}`, bodyOf(shape, number), TYPES[shape.format]);
    }
  }

  /**
   * Work that is slow or has many parallel parts, in an order in which each step can succeed. Each step returns its
   * answer's text.
   */
  steps(name: string, { capacity, long, short, batch }: Amounts): Record<string, () => Promise<string>> {
    let file: Buffer = Buffer.alloc(0);
    const discover = `${SETS}/${name}/urls/discover?results=none`;
    return {
      create: () => this.post(SETS, { name, capacity, errorRate: 1e-6 }),
      'a stream of long URLs': () => this.post(discover, lines(long, ESCAPES), TYPES.text),
      'a lease of control characters': () =>
        this.post(`${SETS}/${name}/queue/lease`, { max: 1_000, leaseSeconds: 1 }),
      'a stream of many URLs': () => this.post(discover, lines(short), TYPES.text),
      export: async () => {
        const response = await fetch(`${this.url}${SETS}/${name}/export`);
        file = Buffer.from(await response.arrayBuffer());
        return file.toString('latin1');
      },
      import: () => this.post(`${SETS}/import?name=${name}.imported`, file, 'application/vnd.unseen.filter'),
      'a batch of as many hosts': async () => {
        const hosts = `${SETS}/${name}.hosts`;
        const create = {
          name: `${name}.hosts`,
          capacity: capacity / 2,
          errorRate: 1e-6,
          perHost: { maxUrls: 9 },
        };
        await this.post(SETS, create);
        const urls = Array.from({ length: batch }, (_, i) => `https://host-${i}.example.org/`);
        await this.post(`${hosts}/urls/discover`, { urls });
        await this.post(`${hosts}/queue/lease`, { max: 1_000, leaseSeconds: 1 });
        return this.post(`${hosts}/urls/forget`, { urls });
      },
      'batches and small calls at once': async () => {
        const urls = Array.from({ length: batch }, (_, i) => `https://example.org/${i}?b=${i}&a=1#x`);
        const batches = Array.from({ length: 12 }, (_, i) =>
          this.post(`${SETS}/all-rules/urls/${i % 2 ? 'check' : 'visit'}`, { urls }),
        );
        const small = Array.from({ length: 40 }, () =>
          this.post('/v1/filters/items/items/check', { items: ['one'] }),
        );
        return (await Promise.all([...batches, ...small])).join('\n');
      },
    };
  }

  private async get(path: string, headers: Record<string, string> = {}): Promise<void> {
    const response = await fetch(this.url + path, { headers });
    await response.arrayBuffer();
    if (response.status >= 500) throw new Error(`GET ${path.slice(0, 80)} answered ${response.status}`);
  }

  private async post(path: string, body: Buffer | object, type = 'application/json'): Promise<string> {
    const init = {
      method: 'POST',
      headers: { 'content-type': type },
      body: Buffer.isBuffer(body) ? body : JSON.stringify(body),
    };
    const response = await fetch(this.url + path, init);
    const text = await response.text();
    // A search that runs for hours fills the set.
    if (response.status >= 500 && response.status !== 507)
      throw new Error(`POST ${path} answered ${response.status}: ${text.slice(0, 300)}`);
    return text;
  }
}

function lines(count: number, tail = ''): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, i) => `https://example.org/${i}/${tail}\n`).join(''));
}
