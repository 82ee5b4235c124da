import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Random, SEED } from '../support/random.js';
import { startRedis } from '../support/redis-server.js';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { statusOf } from '../support/status-of.js';
import { until } from '../support/until.js';
import { bodyOf, KNOWN, mutated, randomShape, type Shape } from './shapes.js';

/** Number of shapes to try. TURN_RUNS=2000 tries more, SEED=… tries the same ones. */
const RUNS = Number(process.env.TURN_RUNS ?? 15);
const MS_PER_RUN = 10_000;
/** The search changes one of the worst shapes so far as often as it tries a new one. */
const KEPT = 5;
/** A shape that holds the process does so every time. If it happens once, something else did it. */
const REPETITIONS = 3;
const LONGEST_TURN_MS = 100;
/** The search sends bodies of a quarter of the bytes: what takes long in them takes long in whole ones. */
const SEARCH_SHARE = 1 / 4;

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

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Limits are the default ones. The time limit is longer, because it is not what is tested. */
const PATIENT = { AUTH: 'none', REQUEST_TIMEOUT_MS: '600000' };

/** A service whose turns are measured. */
class Watched {
  private requests = 0;

  private constructor(
    private readonly service: ServiceProcess,
    private readonly url: string,
  ) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<Watched> {
    const probe = join(process.cwd(), 'test', 'support', 'turn-probe.mjs');
    const service = await startProcess({ ...PATIENT, NODE_OPTIONS: `--import ${probe}`, ...env });
    cleanUps.push(() => service.clean());
    const watched = new Watched(service, await service.url());
    const create = { capacity: 10_000_000, errorRate: 1e-6 };
    await watched.post('/v1/visited-sets', { name: 'urls', ...create });
    await watched.post('/v1/visited-sets', { name: 'all-rules', ...create, urlProfile: ALL_RULES });
    await watched.post('/v1/filters', { name: 'items', type: 'counting', ...create });
    // The service builds the document once.
    await fetch(`${watched.url}/openapi.json`);
    return watched;
  }

  /** The longest turn, in ms of CPU time, while a body of the shape is answered. */
  async hold(shape: Shape): Promise<number> {
    await this.longestTurn();
    await this.whileHealthy(() => this.send(shape));
    return this.longestTurn();
  }

  /** The least of several tries, which go on while it is more than `most`. */
  async leastHold(shape: Shape, most: number): Promise<number> {
    let least = Infinity;
    for (let i = 0; i < REPETITIONS && least > most; i++) least = Math.min(least, await this.hold(shape));
    return least;
  }

  private async send(shape: Shape): Promise<void> {
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
    } else if (target === 'create') await this.post('/v1/visited-sets', bodyOf(shape, number));
    else {
      const verb = VERBS[target === 'items' ? 'items' : 'urls'][shape.verb];
      const base = target === 'items' ? '/v1/filters/items/items' : `/v1/visited-sets/${target}/urls`;
      await this.post(`${base}/${verb}`, bodyOf(shape, number), TYPES[shape.format]);
    }
  }

  /** The longest turn of each piece of work, in ms of CPU time. See `works`. */
  async holds(set: string): Promise<Record<string, number>> {
    const held: Record<string, number> = {};
    for (const [name, work] of Object.entries(this.works(set))) {
      await this.longestTurn();
      await this.whileHealthy(work);
      held[name] = await this.longestTurn();
    }
    return held;
  }

  /** Work that takes long or consists of many things at once, in a possible order. */
  private works(name: string): Record<string, () => Promise<unknown>> {
    const sets = '/v1/visited-sets';
    const escapes = '\u0001'.repeat(8_000);
    let file: Buffer = Buffer.alloc(0);
    const lines = (count: number, tail = ''): Buffer =>
      Buffer.from(Array.from({ length: count }, (_, i) => `https://example.org/${i}/${tail}\n`).join(''));
    return {
      create: () => this.post(sets, { name, capacity: 2_000_000, errorRate: 1e-6 }),
      'a stream of long URLs': () =>
        this.post(`${sets}/${name}/urls/discover?results=none`, lines(1_000, escapes), TYPES.text),
      'a lease of control characters': async () => {
        const leases = await this.post(`${sets}/${name}/queue/lease`, { max: 1_000, leaseSeconds: 1 });
        expect(leases.length).toBeGreaterThan(6e6);
      },
      'a stream of many URLs': () =>
        this.post(`${sets}/${name}/urls/discover?results=none`, lines(200_000), TYPES.text),
      export: async () => {
        const response = await fetch(`${this.url}${sets}/${name}/export`);
        file = Buffer.from(await response.arrayBuffer());
        expect(file.length).toBeGreaterThan(20e6);
      },
      import: async () => {
        await this.post(`${sets}/import?name=${name}.imported`, file, 'application/vnd.unseen.filter');
        expect((await fetch(`${this.url}${sets}/${name}.imported`)).status).toBe(200);
      },
      'batches and small calls at once': async () => {
        const urls = Array.from({ length: 10_000 }, (_, i) => `https://example.org/${i}?b=${i}&a=1#x`);
        const batches = Array.from({ length: 12 }, (_, i) =>
          this.post(`${sets}/all-rules/urls/${i % 2 ? 'check' : 'visit'}`, { urls }),
        );
        const small = Array.from({ length: 40 }, () =>
          this.post('/v1/filters/items/items/check', { items: ['one'] }),
        );
        await Promise.all([...batches, ...small]);
      },
    };
  }

  /** Does something while asking for /healthz all the time. Each request must be answered. */
  private async whileHealthy(act: () => Promise<unknown>): Promise<void> {
    let done = false;
    const asking = async (): Promise<void> => {
      do {
        expect(await statusOf(`${this.url}/healthz`)).toBe(200);
        await sleep(5);
      } while (!done);
    };
    const acting = act().finally(() => (done = true));
    await Promise.all([acting, asking()]);
  }

  private async get(path: string, headers: Record<string, string> = {}): Promise<void> {
    const response = await fetch(this.url + path, { headers });
    await response.arrayBuffer();
    expect(response.status).toBeLessThan(500);
  }

  private async post(path: string, body: Buffer | object, type = 'application/json'): Promise<string> {
    const init = {
      method: 'POST',
      headers: { 'content-type': type },
      body: Buffer.isBuffer(body) ? body : JSON.stringify(body),
    };
    const response = await fetch(this.url + path, init);
    const text = await response.text();
    // A search of several hours fills the set.
    if (response.status !== 507) expect([response.status < 500, text]).toEqual([true, text]);
    return text;
  }

  /** In ms, since it was last asked. */
  private async longestTurn(): Promise<number> {
    const before = this.figures().length;
    this.service.child.kill('SIGUSR2');
    await until('the probe to answer', async () => this.figures().length > before);
    return Number(this.figures().at(-1)?.[1]);
  }

  private figures(): RegExpExecArray[] {
    return [...this.service.stderr().matchAll(/^longest turn (\S+) ms$/gm)];
  }
}

interface Found {
  readonly shape: Shape;
  readonly ms: number;
}

/** The shapes that hold the process for long, the worst first. */
async function search(watched: Watched, random: Random): Promise<Found[]> {
  let worst: Found[] = [];
  for (let run = 0; run < RUNS; run++) {
    const parent = run % 2 === 0 ? worst[random.below(worst.length)] : undefined;
    const shape = KNOWN[run] ?? (parent ? mutated(random, parent.shape) : randomShape(random));
    const ms = await watched.hold({ ...shape, bytes: shape.bytes * SEARCH_SHARE });
    worst = [...worst, { shape, ms }].sort((a, b) => b.ms - a.ms).slice(0, KEPT);
  }
  return worst;
}

function shown({ target, verb, format, head, fragment, tail, length }: Shape): string {
  return JSON.stringify({ target, verb, format, head, fragment: fragment.slice(0, 40), tail, length });
}

describe(`the worst requests that a search finds (SEED=${SEED} TURN_RUNS=${RUNS})`, () => {
  it(
    `hold no turn of the event loop for more than ${LONGEST_TURN_MS} ms, at the default limits and on both stores`,
    async () => {
      const worst = await search(await Watched.start(), new Random());
      const redis = await startRedis();
      cleanUps.push(() => redis.stop());
      for (const [store, env] of Object.entries({
        embedded: {},
        redis: { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '60000' },
      })) {
        const watched = await Watched.start(env);
        const held: string[] = [];
        for (const { shape } of worst) {
          const ms = await watched.leastHold(shape, LONGEST_TURN_MS);
          console.log(`${store}: ${ms} ms, ${shown(shape)}`);
          if (ms > LONGEST_TURN_MS) held.push(`${ms} ms: ${shown(shape)}`);
        }
        expect(held).toEqual([]);
      }
    },
    240_000 + RUNS * MS_PER_RUN,
  );
});

describe('work that goes on for long, or is many requests at once', () => {
  it.each(['embedded', 'redis'])(
    `holds no turn of the event loop for more than ${LONGEST_TURN_MS} ms, %s store`,
    async (store) => {
      const redis = store === 'redis' ? await startRedis() : undefined;
      if (redis) cleanUps.push(() => redis.stop());
      const watched = await Watched.start(redis && { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '60000' });
      // The least of several tries, because a garbage collection on a busy machine is not the work's own.
      const least = new Map<string, number>();
      const tooLong = () => [...least].filter(([, ms]) => ms > LONGEST_TURN_MS);
      for (const name of ['first', 'second', 'third']) {
        const held = await watched.holds(name);
        console.log(`${store}: ${JSON.stringify(held)}`);
        for (const [work, ms] of Object.entries(held)) least.set(work, Math.min(ms, least.get(work) ?? ms));
        if (tooLong().length === 0) break;
      }
      expect(tooLong()).toEqual([]);
    },
    300_000,
  );
});
