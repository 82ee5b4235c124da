import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { describeScrapy, FOLDER, LONG, scrapy, SUITES, suitesPass, why } from './suites.js';

const run = promisify(execFile);
const long: readonly string[] = Object.values(LONG);

describeScrapy(`scrapy-unseen${why}`, () => {
  suitesPass(SUITES.filter((suite) => !long.includes(suite)));

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
