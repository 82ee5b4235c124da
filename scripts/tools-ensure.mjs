/**
 * Provides the tools that tests run against: a Redis server, Scrapy, Chromium, and the packages of the examples.
 *
 *   tools-ensure.mjs           uses installed ones, else installs them with the system's package manager, and npm
 *   tools-ensure.mjs --check   exits 1 with one line if there is no Redis server. Says which other tools are missing, whose
 *                              tests are skipped then; with CI=true it exits 1 for these, too.
 */
import {
  chromiumComplaint,
  ensureChromium,
  ensureExamples,
  ensureRedis,
  ensureScrapy,
  examplesComplaint,
  fail,
  redisComplaint,
  scrapyComplaint,
} from './ensure.mjs';
import { findRedis } from './find-redis.mjs';
import { findScrapy } from './find-scrapy.mjs';

if (process.argv[2] === '--check') check();
else {
  ensureRedis();
  ensureScrapy();
  ensureChromium();
  ensureExamples();
}

function check() {
  const server = findRedis();
  if (!server?.recent) fail(`${redisComplaint(server)}; run: npm run redis:ensure`);
  const missing = [
    findScrapy()?.builds ? '' : scrapyComplaint(),
    chromiumComplaint(),
    examplesComplaint(),
  ].filter(Boolean);
  if (missing.length === 0) return;
  if (process.env.CI === 'true') fail(`${missing.join('; ')}; run: npm run tools:ensure`);
  console.error(`${missing.join('; ')}: their tests are skipped. To run them: npm run tools:ensure`);
}
