import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { defineConfig } from 'vite';
import { writeLicences } from '../../scripts/bundle/licences.mjs';
import { BUILT_FROM, digestOfSources } from '../../scripts/dashboard-sources.mjs';

// Set here for builds that a test or a developer's shell starts too. Any other value compiles JSX for debugging, which
// makes the page a quarter larger.
process.env.NODE_ENV = 'production';

const ROOT = import.meta.dirname;
const PROJECT = join(ROOT, '../..');
const OUT = join(PROJECT, 'dist/dashboard');

export default defineConfig({
  root: ROOT,
  resolve: { alias: { '#client': join(ROOT, '../client/src/index.ts') } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    // The first versions with light-dark(), which the build must not rewrite.
    target: ['chrome123', 'firefox128', 'safari17.5'],
    // The page's Content Security Policy allows no inline code and no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    // On a slow machine, Vite warns that the compression below takes most of the time.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  experimental: {
    // The page is …/dashboard, without a trailing slash, below any prefix added by a proxy.
    renderBuiltUrl: (name, { hostType }) => (hostType === 'html' ? `dashboard/${name}` : { relative: true }),
  },
  // `npm run dashboard:dev` shows changes immediately and uses a running service's API. The proxy is an object, because
  // a plain URL makes Vite change `Host`, and the service refuses requests whose `Origin` names another host.
  server: { proxy: { '/v1': { target: process.env.UNSEEN_URL ?? 'http://127.0.0.1:3000' } } },
  plugins: [
    { name: 'lines-only', enforce: 'pre', transform: withoutUnused },
    { name: 'compress', closeBundle: compressAssets },
    { name: 'licences', writeBundle: (_, chunks) => writeLicences(OUT, bundledFiles(chunks)) },
    noteSources(),
  ],
});

/**
 * Parts of uPlot that the dashboard doesn't use and a bundler can't remove: properties that uPlot adds to itself
 * (steps, bars, curves, table joins, time zones), and its legend.
 */
const UNUSED = [
  { text: /^\t(?:\(paths\.(?:stepped|bars|spline) += |uPlot\.(?:join|tzDate) += ).*\n/gm, times: 5, by: '' },
  { text: /(?<=^\tconst showLegend = )legend\.show(?=;)/gm, times: 1, by: 'false' },
];

function withoutUnused(code, id) {
  if (!/\/uPlot\.esm\.js$/.test(id)) return undefined;
  for (const { text, times } of UNUSED)
    if (code.match(text)?.length !== times) throw new Error(`${id} has changed: see UNUSED, ${text}`);
  return { code: UNUSED.reduce((rest, { text, by }) => rest.replace(text, by), code), map: null };
}

/** The files whose code is in the page. */
function bundledFiles(chunks) {
  const modules = Object.values(chunks).flatMap((chunk) => Object.entries(chunk.modules ?? {}));
  return modules.filter(([, { renderedLength }]) => renderedLength > 0).map(([file]) => file);
}

/** Records the sources that the page was built from, for tests. */
function noteSources() {
  let digest;
  return {
    name: 'note-sources',
    buildStart: () => void (digest = digestOfSources(PROJECT)),
    closeBundle: () => writeFile(join(PROJECT, BUILT_FROM), digest),
  };
}

/** Compresses assets now, so that the service doesn't have to for each request. */
async function compressAssets() {
  const folder = join(OUT, 'assets');
  const names = await readdir(folder);
  for (const name of names.filter((text) => /\.(?:js|css|svg)$/.test(text))) {
    const path = join(folder, name);
    const bytes = await readFile(path);
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes, { params }));
    await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }));
  }
}
