import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';
import { findScrapy } from '../../scripts/find-scrapy.mjs';

const run = promisify(execFile);

export const FOLDER = resolve('libs', 'scrapy');
/** All the package's test suites. */
export const SUITES = readdirSync(join(FOLDER, 'tests'))
  .filter((name) => /^test_\w+\.py$/.test(name))
  .map((name) => name.slice(0, -'.py'.length));
/** The slowest suites have their own specs, so Jest's workers share them. */
export const LONG = { queued: 'test_queued', unavailable: 'test_unavailable' } as const;
export const TIMEOUT_MS = 1_200_000;

export const scrapy = findScrapy();
export const why = scrapy ? '' : ' (skipped: no Python imports Scrapy; npm run tools:ensure installs it)';
export const describeScrapy = scrapy ? describe : describe.skip;

/**
 * Runs the suites in one Python process, which imports Scrapy once. One store is enough, because the contract runs each
 * of the package's calls on both stores.
 */
export function suitesPass(suites: readonly string[]): void {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it(
    suites.join(', '),
    async () => {
      const env = {
        ...process.env,
        PYTHONPATH: join(FOLDER, 'src'),
        PYTHONDONTWRITEBYTECODE: '1',
        UNSEEN_TEST_URL: app.url,
      };
      const args = ['-m', 'unittest', '-v', ...suites.map((suite) => `tests.${suite}`)];
      const ended = await run(scrapy?.python ?? '', args, { cwd: FOLDER, env, maxBuffer: 2 ** 26 }).then(
        ({ stderr }) => ({ failed: false, stderr }),
        (error: unknown) => ({ failed: true, stderr: (error as { stderr: string }).stderr }),
      );
      // unittest reports on stderr.
      expect(ended.failed ? ended.stderr : '').toBe('');
      expect(ended.stderr).toMatch(/^Ran [1-9]\d* tests? in .*\n\nOK\n$/m);
      expect(suites.filter((suite) => !ended.stderr.includes(`(tests.${suite}.`))).toEqual([]);
    },
    TIMEOUT_MS,
  );
}
