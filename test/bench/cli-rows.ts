import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { UnseenClient } from '#client';
import { onBothStores } from './both-stores.js';
import { measured, summary, type Measured, type Workers } from './measured.js';
import { realStream } from './real-stream.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import { assertSetUp, atLeast, type BenchOptions, type Group, type Row } from './row.js';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('../../src/cli/unseen.js', import.meta.url));
const ROUNDS = 3;
const QUICK_LINES = 200_000;
const LEAST_SPEED = 0.9;

/**
 * The command line on a file of real URLs, compared with curl, which streams the same file to the same route and
 * discards the response.
 */
export const cliGroup: Group = {
  name: 'cli',
  measure: (options) => onBothStores(options, rowsOf),
};

/**
 * Moves the members of a Redis set with `import-set`, compared with the manual way: SMEMBERS, which blocks Redis while
 * it runs, piped into curl.
 */
async function movingRows(
  store: string,
  url: string,
  workers: Workers,
  urls: readonly string[],
  quick: boolean,
): Promise<Row[]> {
  const redis = await RedisInstance.start();
  try {
    const client = new Redis(redis.url);
    for (let i = 0; i < urls.length; i += 10_000) await client.sadd('seen', urls.slice(i, i + 10_000));
    const members = await client.scard('seen');
    client.disconnect();
    const set = new UnseenClient({ url }).visitedSet('moved');
    await set.create({ capacity: urls.length });
    const pasted = `redis-cli -u ${redis.url} --raw SMEMBERS seen | curl -sS -X POST -T - -H 'Content-Type: text/plain' -o /dev/null ${url}/v1/visited-sets/moved/urls/visit`;
    const ways = {
      'smembers-to-curl': () => run('sh', ['-c', pasted]),
      'import-set': () =>
        run(process.execPath, [PROGRAM, 'import-set', 'moved', '--redis', redis.url, '--key', 'seen'], {
          env: { UNSEEN_URL: url },
        }).catch(
          // The command exits with 1, because it reports members that aren't URLs.
          (error: unknown) => assertSetUp((error as { code?: unknown }).code === 1, String(error)),
        ),
    };
    const rows: Row[] = [];
    for (const [way, move] of Object.entries(ways)) {
      const rounds: Measured[] = [];
      for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
        await set.clear();
        rounds.push(await measured(workers, members, move));
        const description = await set.describe();
        const items = 'items' in description ? description.items : 0;
        assertSetUp(items > members / 3, `${way}: ${items} of ${members} are in the set`);
      }
      rows.push({ name: `cli-${store}/${way}`, ...summary(rounds) });
    }
    return rows;
  } finally {
    await redis.stop();
  }
}

async function rowsOf(
  store: string,
  port: number,
  workers: Workers,
  { quick }: BenchOptions,
): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'unseen-bench-'));
  try {
    const all = realStream().urls;
    const urls = quick ? all.slice(0, QUICK_LINES) : all;
    const file = join(folder, 'urls.txt');
    writeFileSync(file, `${urls.join('\n')}\n`);
    const url = `http://127.0.0.1:${port}`;
    const set = new UnseenClient({ url }).visitedSet('cli');
    await set.create({ capacity: urls.length });
    const route = `${url}/v1/visited-sets/cli/urls/visit`;
    const text = ['-H', 'Content-Type: text/plain', '-o', join(folder, 'answers')];
    const visit = {
      curl: () => run('curl', ['-sS', '-X', 'POST', '-T', file, ...text, route]),
      unseen: () =>
        run(process.execPath, [PROGRAM, 'visit', 'cli', file], {
          env: { UNSEEN_URL: url, HOME: folder },
        }).catch(
          // The command exits with 1, because it reports lines that aren't URLs.
          (error: unknown) => assertSetUp((error as { code?: unknown }).code === 1, String(error)),
        ),
    };
    const rounds: Record<keyof typeof visit, Measured[]> = { curl: [], unseen: [] };
    for (let round = 0; round <= (quick ? 0 : ROUNDS); round++) {
      for (const how of ['curl', 'unseen'] as const) {
        await set.clear();
        const found = await measured(workers, urls.length, visit[how]);
        const description = await set.describe();
        const items = 'items' in description ? description.items : 0;
        assertSetUp(items > urls.length / 3, `${how}: ${items} of ${urls.length} are in the set`);
        // The first round warms up.
        if (round > 0 || quick) rounds[how].push(found);
      }
    }
    const curl = { name: `cli-${store}/visit-by-curl`, ...summary(rounds.curl) };
    const unseen = { name: `cli-${store}/visit`, ...summary(rounds.unseen) };
    const times = unseen.itemsPerSecond / curl.itemsPerSecond;
    return [
      curl,
      { ...unseen, targets: [atLeast('speed relative to curl', times, LEAST_SPEED, '×')] },
      ...(redisVersion() === undefined ? [] : await movingRows(store, url, workers, urls, quick)),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
