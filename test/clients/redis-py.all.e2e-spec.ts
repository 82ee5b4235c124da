import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findRedisPy } from '../../scripts/find-redis-py.mjs';
import type { TestApp } from '../support/app.js';
import { rowsOf } from '../support/markdown.js';
import { BOTH_STORES } from '../e2e/stores.js';

const run = promisify(execFile);

const PAGE = 'docs/redis-protocol.md';
/** redis-py's tests that can't pass, with the text of the error that each one fails with. */
const CANNOT_PASS = Object.fromEntries(
  rowsOf(PAGE, 'test of redis-py').map(([test = '', error = '']) => [test, error]),
);
/** Count-min sketches, Top-K and t-digests are other structures. */
const SELECTED = 'not (cms or topk or tdigest)';

const { folder, exists, python } = findRedisPy();
const isFound = exists && python !== undefined;
const describeFound = isFound ? describe : describe.skip;
const why = isFound
  ? ''
  : ' (skipped: no redis-py or no pytest; npm run tools:ensure -- redis-py installs them)';

describeFound.each(BOTH_STORES)(`redis-py’s own tests of bf() and cf()${why}, $name store`, ({ start }) => {
  let app: TestApp;
  let home: string;
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0' });
    home = await mkdtemp(join(tmpdir(), 'unseen-redis-py-'));
  });
  afterAll(async () => {
    await app.close();
    await rm(home, { recursive: true, force: true });
  });

  /** Runs the tests. Returns each test's error, or '' if it passed. */
  const errorsIn = async (protocol: number): Promise<Record<string, string>> => {
    const file = join(home, `errors-${protocol}.json`);
    const url = `redis://127.0.0.1:${app.respPort}`;
    const args = [
      // redis-py's own configuration needs packages for coverage.
      ...['-m', 'pytest', '-c', '/dev/null', '--rootdir', folder, '-p', 'no:cacheprovider'],
      ...['-p', 'redis_py_plugin', 'tests/test_bloom.py', '-k', SELECTED],
      ...['--redis-url', url, '--redis-mod-url', url, '--protocol', String(protocol)],
    ];
    const env = {
      ...process.env,
      PYTHONPATH: [resolve('test', 'clients'), folder, process.env.PYTHONPATH].filter(Boolean).join(':'),
      PYTHONDONTWRITEBYTECODE: '1',
      UNSEEN_TEST_URL: app.url,
      UNSEEN_TEST_ERRORS: file,
    };
    const output = await run(python ?? '', args, { cwd: folder, env, maxBuffer: 2 ** 26 }).then(
      ({ stdout }) => stdout,
      (error: unknown) => {
        const { stdout, stderr } = error as { stdout: string; stderr: string };
        return stdout + stderr;
      },
    );
    const written = await readFile(file, 'utf8').catch(() => JSON.stringify({ pytest: output }));
    return JSON.parse(written) as Record<string, string>;
  };

  it.each([2, 3])('pass in RESP %i, except those in the docs', async (protocol) => {
    const errors = await errorsIn(protocol);
    const expected = Object.keys(errors).map((test) => {
      const error = CANNOT_PASS[test];
      return [test, error === undefined ? '' : expect.stringContaining(error)];
    });
    expect(errors).toEqual(Object.fromEntries(expected));
    expect(Object.keys(errors)).toEqual(expect.arrayContaining(Object.keys(CANNOT_PASS)));
    const passed = Object.values(errors).filter((error) => error === '').length;
    const counts = `Of these ${Object.keys(errors).length} tests, ${passed} pass.`;
    expect(readFileSync(PAGE, 'utf8')).toContain(counts);
  });
});
