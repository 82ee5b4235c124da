import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestApp } from '../support/app.js';
import { STORES } from '../e2e/stores.js';
import { findScrapy } from '../../scripts/find-scrapy.mjs';

const run = promisify(execFile);
const FOLDER = resolve('libs', 'scrapy');
const SUITES = readdirSync(join(FOLDER, 'tests'))
  .filter((name) => /^test_\w+\.py$/.test(name))
  .map((name) => name.slice(0, -'.py'.length));
/** The contract proves that both stores answer alike: one suite, which uses all that the package calls, runs on both. */
const ON_BOTH = ['test_queued'];
const TIMEOUT_MS = 1_200_000;

const scrapy = findScrapy();
const why = scrapy ? '' : ' (skipped: no Python imports Scrapy; npm run tools:ensure installs it)';
const describeScrapy = scrapy ? describe : describe.skip;

describeScrapy(`scrapy-unseen${why}`, () => {
  describe.each(STORES)('on the $name store', ({ name, start }) => {
    let app: TestApp;
    beforeAll(async () => {
      app = await start();
    });
    afterAll(() => app.close());

    it.each(SUITES.filter((suite) => name === 'embedded' || ON_BOTH.includes(suite)))(
      '%s',
      async (suite) => {
        const env = {
          ...process.env,
          PYTHONPATH: join(FOLDER, 'src'),
          PYTHONDONTWRITEBYTECODE: '1',
          UNSEEN_TEST_URL: app.url,
        };
        const args = ['-m', 'unittest', `tests.${suite}`];
        const ended = await run(scrapy?.python ?? '', args, { cwd: FOLDER, env, maxBuffer: 2 ** 26 }).then(
          ({ stderr }) => ({ failed: false, stderr }),
          (error: unknown) => ({ failed: true, stderr: (error as { stderr: string }).stderr }),
        );
        // unittest says on stderr how it went.
        expect(ended.failed ? ended.stderr : '').toBe('');
        expect(ended.stderr).toMatch(/^Ran [1-9]\d* tests? in .*\n\nOK\n$/m);
      },
      TIMEOUT_MS,
    );
  });

  const built = scrapy?.builds ? it : it.skip;
  const whyNot = scrapy?.builds ? '' : ' (skipped: this Python has no setuptools, or no wheel)';
  built(`is built as a wheel, with its types${whyNot}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'unseen-wheel-'));
    try {
      const source = join(folder, 'source');
      await run('cp', ['-r', FOLDER, source]);
      const build =
        'from setuptools.build_meta import build_wheel; import sys; print(build_wheel(sys.argv[1]))';
      await run(scrapy?.python ?? '', ['-c', build, folder], { cwd: source });
      const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
      expect(wheel).toBe('scrapy_unseen-0.1.0-py3-none-any.whl');
      const list = 'import sys, zipfile; print("\\n".join(zipfile.ZipFile(sys.argv[1]).namelist()))';
      const { stdout } = await run(scrapy?.python ?? '', ['-c', list, join(folder, wheel ?? '')]);
      expect(stdout.split('\n')).toEqual(
        expect.arrayContaining(['scrapy_unseen/scheduler.py', 'scrapy_unseen/py.typed']),
      );
      expect(stdout).not.toContain('tests/');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
