import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HostileWork } from '../fuzz/hostile-work.js';
import { KNOWN, mutated, randomShape, type Shape } from '../fuzz/shapes.js';
import { Random } from '../support/random.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import { assertSetUp, atMost, type BenchOptions, type Group, type Row } from './row.js';
import { makeDataDir, Service } from './service.js';

const PROBE = new URL('turn-probe.js', import.meta.url).href;
const LONGEST_TURN_MS = 100;
/** The same shapes in each run, so that runs can be compared. */
const SEED = 1;
const SHAPES = 60;
/** Half of the search's attempts change one of the worst shapes so far, and the search keeps this many of them. */
const KEPT = 5;
/** Measures each turn this many times, and takes the minimum, because garbage collection isn't part of the work. */
const REPETITIONS = 3;
/**
 * The search sends bodies a quarter as large, because work that is slow for small bodies is also slow for whole ones.
 */
const SEARCH_SHARE = 1 / 4;
const ANSWER_MS = 600_000;

/** The longest turn of the event loop during the worst requests that a search finds, and during long work. */
export const turnGroup: Group = {
  name: 'turns',
  async measure(options) {
    const worst = await withWatched({}, (watched) => search(watched, options));
    const rows = await withWatched({}, (watched) => storeRows('embedded', watched, worst, options));
    if (redisVersion() === undefined) {
      console.error('  Redis is skipped: redis-server is missing; run npm run redis:ensure');
      return rows;
    }
    const redis = await RedisInstance.start();
    try {
      const env = { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '60000' };
      const onRedis = await withWatched(env, (watched) => storeRows('redis', watched, worst, options));
      return [...rows, ...onRedis];
    } finally {
      await redis.stop();
    }
  },
};

/** A service whose turns are measured. */
class Watched {
  constructor(
    readonly work: HostileWork,
    private readonly pid: number,
    private readonly file: string,
  ) {}

  /** The longest turn during some work, in ms of CPU time. */
  async during(work: () => Promise<unknown>): Promise<number> {
    await this.longestTurn();
    await work();
    return this.longestTurn();
  }

  /** The longest turn since the last call. */
  private async longestTurn(): Promise<number> {
    await rm(this.file, { force: true });
    process.kill(this.pid, 'SIGUSR2');
    for (let waited = 0; waited < ANSWER_MS; waited += 5) {
      const text = await readFile(this.file, 'utf8').catch(() => undefined);
      if (text !== undefined) return Number(text);
      await sleep(5);
    }
    throw new Error('the probe of turns does not answer');
  }
}

async function withWatched<T>(
  env: Readonly<Record<string, string>>,
  run: (watched: Watched) => Promise<T>,
): Promise<T> {
  const folder = await makeDataDir();
  const file = join(folder, 'longest-turn');
  const service = await Service.start({
    env: {
      ...{ AUTH: 'none', REQUEST_TIMEOUT_MS: '600000' },
      ...{ NODE_OPTIONS: `--import ${PROBE}`, BENCH_TURN_FILE: file },
      ...env,
    },
  });
  try {
    return await run(
      new Watched(await HostileWork.at(`http://127.0.0.1:${service.port}`, 10_000_000), service.pid, file),
    );
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Found {
  readonly shape: Shape;
  readonly ms: number;
}

/** The shapes with the longest turns, worst first. */
async function search(watched: Watched, { quick }: BenchOptions): Promise<Shape[]> {
  const random = new Random(SEED);
  let worst: Found[] = [];
  for (let run = 0; run < (quick ? KNOWN.length : SHAPES); run++) {
    const parent = run % 2 === 0 ? worst[random.below(worst.length)] : undefined;
    const shape = KNOWN[run] ?? (parent ? mutated(random, parent.shape) : randomShape(random));
    const ms = await watched.during(() => watched.work.send({ ...shape, bytes: shape.bytes * SEARCH_SHARE }));
    worst = [...worst, { shape, ms }].sort((a, b) => b.ms - a.ms).slice(0, KEPT);
  }
  return worst.map(({ shape }) => shape);
}

async function storeRows(
  store: string,
  watched: Watched,
  worst: readonly Shape[],
  { quick }: BenchOptions,
): Promise<Row[]> {
  const least = new Map<string, number>();
  const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const ms = await watched.during(work);
    least.set(name, Math.min(ms, least.get(name) ?? ms));
  };
  for (let n = 0; n < (quick ? 1 : REPETITIONS); n++) {
    for (const [i, shape] of worst.entries()) {
      await measure(`body ${i + 1}`, () => watched.work.send(shape));
    }
    const steps = watched.work.steps(`set-${n}`, {
      capacity: 2_000_000,
      long: 1_000,
      short: 200_000,
      batch: 10_000,
    });
    for (const [name, step] of Object.entries(steps)) {
      await measure(name, async () => {
        const { length } = await step();
        if (name === 'export') assertSetUp(length > 20e6, `the export is large: ${length} bytes`);
      });
    }
  }
  for (const [i, shape] of worst.entries()) console.error(`  ${store}, body ${i + 1}: ${shown(shape)}`);
  return [
    {
      name: `turns/${store}`,
      figures: [...least].map(([name, value]) => ({ name, value, unit: 'ms' })),
      targets: [atMost('longest turn, CPU', Math.max(...least.values()), LONGEST_TURN_MS, 'ms')],
    },
  ];
}

function shown({ target, verb, format, head, fragment, tail, length }: Shape): string {
  return JSON.stringify({ target, verb, format, head, fragment: fragment.slice(0, 40), tail, length });
}
