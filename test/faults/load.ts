import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { patienceMs } from '../support/patience.js';
import { statusOf } from '../support/status-of.js';
import { until } from '../support/until.js';

/** A request with an Idempotency-Key, which may be repeated. */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly key: string;
}

/** A response: its status, and the body if it succeeded. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

const FAILURES = [503, 507];
const PAUSE_MS = 20;
const BATCH = 20;
const SIDE_BY_SIDE = 16;

/** Sends a request. Undefined if the connection was lost. A failed response must tell the caller to try again. */
export async function send(url: string, { method, path, body, key }: Request): Promise<Reply | undefined> {
  const answer = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    signal: AbortSignal.timeout(patienceMs()),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
    .then(async (response) => ({ response, text: await response.text() }))
    .catch(() => undefined);
  if (!answer) return undefined;
  const { response, text } = answer;
  if (!response.ok) {
    expect([path, FAILURES, text]).toEqual([path, expect.arrayContaining([response.status]), text]);
    if (response.status === 503) expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
  }
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}

/** Sends the request until it succeeds. */
export async function insist(url: string, request: Request): Promise<Reply> {
  let reply: Reply | undefined;
  await until(`${request.method} ${request.path} succeeds`, async () => {
    reply = await send(url, request);
    return reply !== undefined && reply.status < 300;
  });
  return reply as Reply;
}

export const post = (path: string, body?: unknown, key: string = randomUUID()): Request => ({
  method: 'POST',
  path,
  key,
  ...(body === undefined ? {} : { body }),
});

/** One batch's outcome. `first` is the response that the caller got, if any. */
interface Batch {
  readonly request: Request;
  readonly items: readonly string[];
  first?: unknown;
}

async function verifyBatch(url: string, { request, items, first }: Batch): Promise<void> {
  const { body } = await insist(url, request);
  const results = items.map(() => true);
  expect([request.key, body]).toEqual([request.key, { results }]);
  if (first !== undefined) expect([request.key, first]).toEqual([request.key, body]);
}

/** Writers that add batches to a `multiset` filter, each item once, regardless of the responses. */
export class Load {
  readonly batches: Batch[] = [];
  /** The time to each response in ms, including failures. */
  readonly latencies: number[] = [];
  failed = 0;
  private running = true;
  private readonly writers: Promise<void>[];

  private constructor(
    private readonly url: () => string,
    private readonly filter: string,
    writers: number,
    private readonly prefix: string,
  ) {
    this.writers = Array.from({ length: writers }, () => this.write());
  }

  /** Creates the filter for the load. Its error rate is so low that no false positive is expected. */
  static async makeFilter(url: string, name: string, capacity = 200_000): Promise<void> {
    const body = { name, type: 'counting', semantics: 'multiset', capacity, errorRate: 1e-6 };
    expect((await insist(url, post('/v1/filters', body))).status).toBe(201);
  }

  /** `prefix` separates this load's items from other loads' items. */
  static start(url: () => string, filter: string, writers: number, prefix: string): Load {
    return new Load(url, filter, writers, prefix);
  }

  get acknowledged(): number {
    return this.batches.filter(({ first }) => first !== undefined).length;
  }

  /** Resolves once 10 + `many` more batches are acknowledged. */
  async underWay(many = 0): Promise<void> {
    const enough = this.acknowledged + 10 + many;
    await until('batches are acknowledged', () => Promise.resolve(this.acknowledged >= enough));
  }

  async stop(): Promise<void> {
    this.running = false;
    await Promise.all(this.writers);
  }

  /**
   * Repeats every batch with its key. Each item was new exactly once. So every response, first or repeated, must say
   * that it was new, and the counters must agree.
   */
  async verify(): Promise<void> {
    const url = this.url();
    for (let at = 0; at < this.batches.length; at += SIDE_BY_SIDE) {
      await Promise.all(this.batches.slice(at, at + SIDE_BY_SIDE).map((batch) => verifyBatch(url, batch)));
    }
    const items = this.batches.flatMap((batch) => batch.items);
    for (let at = 0; at < items.length; at += 5_000) {
      const slice = items.slice(at, at + 5_000);
      const { body } = await insist(url, post(`/v1/filters/${this.filter}/items/count`, { items: slice }));
      expect(slice.filter((_, i) => (body as { results: number[] }).results[i] !== 1)).toEqual([]);
    }
  }

  /** The number of acknowledged items that are missing now. */
  async missing(): Promise<number> {
    const items = this.batches.flatMap(({ items, first }) => (first === undefined ? [] : items));
    let missing = 0;
    for (let at = 0; at < items.length; at += 5_000) {
      const slice = items.slice(at, at + 5_000);
      const { body } = await insist(
        this.url(),
        post(`/v1/filters/${this.filter}/items/check`, { items: slice }),
      );
      missing += (body as { results: boolean[] }).results.filter((present) => !present).length;
    }
    return missing;
  }

  private async write(): Promise<void> {
    while (this.running) {
      const key = `${this.prefix}-${this.batches.length}`;
      const items = Array.from({ length: BATCH }, (_, i) => `${key}-${i}`);
      const request = post(`/v1/filters/${this.filter}/items/add`, { items }, key);
      const batch: Batch = { request, items };
      this.batches.push(batch);
      const began = performance.now();
      const reply = await send(this.url(), request);
      this.latencies.push(performance.now() - began);
      if (reply?.status === 200) batch.first = reply.body;
      else {
        this.failed++;
        await sleep(PAUSE_MS);
      }
    }
  }
}

/** A client that creates, fills, clears and drops one filter after another. After a fault it continues where it was. */
export class LifeCycles {
  readonly dropped: string[] = [];
  private name = 0;
  private step = 0;
  private running = false;
  private cycle: Promise<void> = Promise.resolve();

  start(url: () => string): void {
    this.running = true;
    this.cycle = this.turn(url);
  }

  async stop(): Promise<void> {
    this.running = false;
    await this.cycle;
  }

  /** Stops after it has dropped another filter. */
  async turned(): Promise<void> {
    const { length } = this.dropped;
    await until('a filter is dropped', () => Promise.resolve(this.dropped.length > length));
    await this.stop();
  }

  /** Expects that dropped filters are gone. */
  async verify(url: string): Promise<void> {
    for (const name of this.dropped.slice(-20)) {
      let status = 503;
      await until(`${name} is looked up`, async () => {
        status = await statusOf(`${url}/v1/filters/${name}`);
        return status !== 503;
      });
      expect([name, status]).toEqual([name, 404]);
    }
  }

  /** If a response was lost, repeats the call with its key. It must succeed like the first call. */
  private async turn(url: () => string): Promise<void> {
    while (this.running) {
      const name = `cycle-${this.name}`;
      const { request, status, body } = this.steps(name)[this.step]!;
      const reply = await send(url(), { ...request, key: `${name}-${this.step}` });
      if (!reply || reply.status >= 500) {
        await sleep(PAUSE_MS);
        continue;
      }
      expect([name, this.step, reply]).toMatchObject([name, this.step, { status, body }]);
      if (++this.step < this.steps(name).length) continue;
      this.dropped.push(name);
      this.name++;
      this.step = 0;
    }
  }

  private steps(name: string): { request: Request; status: number; body: unknown }[] {
    const path = `/v1/filters/${name}`;
    const filter = { name, type: 'counting', capacity: 20_000, errorRate: 1e-6 };
    const add = post(`${path}/items/add`, { items: ['a', 'b'] });
    const added = { request: add, status: 200, body: { results: [true, true] } };
    return [
      { request: post('/v1/filters', filter), status: 201, body: { items: 0 } },
      added,
      { request: post(`${path}/clear`), status: 200, body: { items: 0 } },
      added,
      { request: { method: 'DELETE', path, key: '' }, status: 204, body: undefined },
    ];
  }
}
