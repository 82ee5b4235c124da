import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { madeUpMix, mixOf, sampleOf, type Mix } from './mix.js';
import { BATCH, flat, linesOf, urlAt } from './workload.js';

/** The repository URLs of all npm packages: 2.76 million URLs, many of them in several packages. */
const PACKAGE = 'all-the-package-repos@2.0.3148';
const CACHE = join('node_modules', '.cache', 'unseen-bench');
const FETCH_MS = 300_000;

/** URLs in the order of the list. */
export interface RealStream {
  readonly source: 'real URLs' | 'made-up URLs';
  readonly urls: readonly string[];
}

/** The real URLs, downloaded once and stored outside version control. Made-up URLs if the download fails. */
export function realStream(): RealStream {
  const list = join(CACHE, `${PACKAGE}.txt`);
  try {
    if (!existsSync(list)) fetchList(list);
    return { source: 'real URLs', urls: linesOf(list) };
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    console.error(`  ${PACKAGE} cannot be had, so URLs are made up: ${why}`);
    return { source: 'made-up URLs', urls: madeUpMix(1_000_000, urlAt) };
  }
}

/** About `count` of the URLs: whole batches with the stream's share of duplicates. */
export function mixFrom({ urls }: RealStream, count: number): Mix {
  const sample = sampleOf(urls, count);
  return mixOf(flat(sample.slice(0, Math.floor(sample.length / BATCH) * BATCH)));
}

/** Writes the package's URLs, one per line. */
function fetchList(list: string): void {
  mkdirSync(CACHE, { recursive: true });
  const dir = mkdtempSync(join(CACHE, 'fetch-'));
  try {
    const run = (program: string, args: readonly string[]) =>
      execFileSync(program, args, { cwd: dir, timeout: FETCH_MS, stdio: ['ignore', 'pipe', 'ignore'] });
    const archive = run('npm', ['pack', '--silent', PACKAGE]).toString().trim();
    run('tar', ['-xzf', archive]);
    const text = readFileSync(join(dir, 'package', 'data', 'packages.json'), 'utf8');
    writeFileSync(join(dir, 'urls.txt'), `${repositoryUrls(text).join('\n')}\n`);
    renameSync(join(dir, 'urls.txt'), list);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * The values in an object of strings and nulls with one member per line. The whole object is too large to parse
 * quickly.
 */
export function repositoryUrls(json: string): string[] {
  const urls: string[] = [];
  for (const [, value = ''] of json.matchAll(/": (".*"),?$/gm)) {
    const url = JSON.parse(value) as string;
    if (url !== '' && !/\s/.test(url)) urls.push(url);
  }
  return urls;
}
