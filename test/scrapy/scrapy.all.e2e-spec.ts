import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, startApp, type TestApp } from '../support/app.js';
import { expectDocumentedSize } from '../support/documented-sizes.js';
import { PagesServer } from '../support/pages-server.js';
import { describeScrapy, FOLDER, LONG, scrapy, SUITES, suitesPass, TIMEOUT_MS, why } from './suites.js';

const run = promisify(execFile);
const long: readonly string[] = Object.values(LONG);

const BUILD_WHEEL = 'from setuptools.build_meta import build_wheel; import sys; build_wheel(sys.argv[1])';
const TELL_SITES = 'import sys; print("\\n".join(path for path in sys.path if path.endswith("-packages")))';
const TELL_PACKAGES = 'import sysconfig; print(sysconfig.get_path("purelib"))';
const TELL_LICENCE = `
from importlib.metadata import files
print(next(path for path in files("scrapy-unseen") if path.name == "LICENSE").read_text())`;
const TELL_BYTES = `
from importlib.metadata import files
print(sum(path.size or 0 for path in files("scrapy-unseen")))`;

/** A user's program. It prints the pages that it has crawled. */
const CRAWL = `
import json, sys
import scrapy, scrapy_unseen
from scrapy.crawler import CrawlerProcess

UNSEEN_URL, *URLS = sys.argv[1:]
crawled = []

class Pages(scrapy.Spider):
    name = "pages"

    # Scrapy's own start requests are never filtered.
    def start_requests(self):
        return map(scrapy.Request, URLS)

    # Later versions of Scrapy call this.
    async def start(self):
        for request in self.start_requests():
            yield request

    def parse(self, response):
        crawled.append(response.url)

process = CrawlerProcess({
    "SCHEDULER": "scrapy_unseen.Scheduler",
    "UNSEEN_URL": UNSEEN_URL,
    "EXTENSIONS": {"scrapy.extensions.telnet.TelnetConsole": None},
    "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
})
process.crawl(Pages)
process.start()
print(json.dumps({"from": scrapy_unseen.__file__, "pages": sorted(crawled)}))
`;

describeScrapy(`scrapy-unseen${why}`, () => {
  suitesPass(SUITES.filter((suite) => !long.includes(suite)));

  const describeWheel = scrapy?.builds ? describe : describe.skip;
  const whyNot = scrapy?.builds ? '' : ' (skipped: this Python has no setuptools, wheel, or ensurepip)';
  describeWheel(`the wheel, installed in an empty folder${whyNot}`, () => {
    let folder: string;
    let wheel: string;
    /** The environment's Python. */
    let python: string;
    let app: TestApp;
    let site: PagesServer;
    beforeAll(async () => {
      [app, site] = [await startApp(), await PagesServer.start()];
      folder = await mkdtemp(join(tmpdir(), 'unseen-wheel-'));
      const source = join(folder, 'source');
      await cp(FOLDER, source, { recursive: true });
      await run(scrapy!.python, ['-c', BUILD_WHEEL, folder], { cwd: source });
      await rm(source, { recursive: true });
      wheel = (await readdir(folder)).find((name) => name.endsWith('.whl')) ?? '';
      await run(scrapy!.python, ['-m', 'venv', join(folder, 'env')]);
      python = join(folder, 'env', 'bin', 'python');
      // Scrapy is already installed for the tests. The environment uses that one, so this needs no network.
      const { stdout: sites } = await run(scrapy!.python, ['-c', TELL_SITES]);
      const { stdout: packages } = await run(python, ['-c', TELL_PACKAGES]);
      await writeFile(join(packages.trim(), 'scrapy.pth'), sites);
      await run(python, ['-m', 'pip', 'install', '--no-index', join(folder, wheel)], { timeout: 240_000 });
      await writeFile(join(folder, 'crawl.py'), CRAWL);
    }, TIMEOUT_MS);
    afterAll(async () => {
      await app.close();
      await site.stop();
      await rm(folder, { recursive: true, force: true });
    });

    it('contains its modules, its types and its licence, and no tests', async () => {
      expect(wheel).toBe('scrapy_unseen-0.1.0-py3-none-any.whl');
      const list = 'import sys, zipfile; print("\\n".join(zipfile.ZipFile(sys.argv[1]).namelist()))';
      const { stdout } = await run(python, ['-c', list, join(folder, wheel)]);
      expect(stdout.split('\n')).toEqual(
        expect.arrayContaining(['scrapy_unseen/scheduler.py', 'scrapy_unseen/py.typed']),
      );
      expect(stdout).not.toContain('tests/');
      const { stdout: licence } = await run(python, ['-c', TELL_LICENCE]);
      expect(licence.trim()).toBe((await readFile('LICENSE', 'utf8')).trim());
    });

    it('has the documented sizes', async () => {
      expectDocumentedSize('the package for Scrapy', 'download', (await stat(join(folder, wheel))).size);
      const { stdout } = await run(python, ['-c', TELL_BYTES]);
      expectDocumentedSize('the package for Scrapy', 'disk', Number(stdout));
    });

    it('crawls a page once, and again after it is forgotten', async () => {
      const paths = ['/a', '/b'];
      for (const path of paths)
        site.set(path, { body: '<p>page</p>', headers: { 'content-type': 'text/html' } });
      const urls = paths.map((path) => site.url + path);
      const crawl = async (): Promise<unknown> => {
        const { stdout } = await run(python, ['crawl.py', app.url, ...urls], {
          cwd: folder,
          timeout: 240_000,
        });
        return JSON.parse(stdout);
      };
      const from = expect.stringContaining(join(folder, 'env'));
      expect(await crawl()).toEqual({ from, pages: urls });
      expect(await crawl()).toEqual({ from, pages: [] });
      const forget = await call(app, 'POST', '/v1/visited-sets/pages/urls/forget', { urls: [urls[1]] });
      expect(forget).toMatchObject({ status: 200, body: { results: ['forgotten'] } });
      expect(await crawl()).toEqual({ from, pages: [urls[1]] });
    });
  });
});
