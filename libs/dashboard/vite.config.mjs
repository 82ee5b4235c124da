import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { defineConfig } from 'vite';

// Of a build that a test or a shell of a developer begins, too: with another one JSX is compiled for debugging, a quarter larger.
process.env.NODE_ENV = 'production';

const ROOT = import.meta.dirname;
const OUT = join(ROOT, '../../dist/dashboard');

export default defineConfig({
  root: ROOT,
  resolve: { alias: { '#client': join(ROOT, '../client/src/index.ts') } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    // The first of each that knows light-dark(), which must not be rewritten.
    target: ['chrome123', 'firefox128', 'safari17.5'],
    // The policy of the page allows nothing inline, and no data: URL.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    // On a slow machine it would report that the compression below takes most of the time.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  experimental: {
    // The page is at …/dashboard, without a slash, below whatever prefix a proxy gives it.
    renderBuiltUrl: (name, { hostType }) => (hostType === 'html' ? `dashboard/${name}` : { relative: true }),
  },
  // `npm run dashboard:dev` shows changes at once, and uses the API of a running service. An object, because a plain URL
  // makes Vite change `Host`, and the service refuses requests whose `Origin` is another host.
  server: { proxy: { '/v1': { target: process.env.UNSEEN_URL ?? 'http://127.0.0.1:3000' } } },
  plugins: [
    { name: 'lines-only', enforce: 'pre', transform: withoutUnused },
    { name: 'compress', closeBundle: compressAssets },
  ],
});

/**
 * What no bundler can know that nothing here needs of uPlot: what it hangs on itself (steps, bars, curves, joins of tables, time
 * zones), and its own legend.
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

/** Compresses once what is served many times. */
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
