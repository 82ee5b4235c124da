import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { transform } from '@swc/core';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');

/**
 * Programs that start from compiled code, with the names that they export. A script has no top-level await, so they have
 * none.
 */
export const SCRIPTS = {
  main: [],
  'cli/command-line': ['runCommandLine'],
  'cli/offline-keys': ['offlineKeys'],
  'tracing/open-telemetry': ['openTelemetry'],
};
/** The other programs. */
const MODULES = ['cli/unseen', 'cli/verify', 'demo/main'];

/** The paths of our sources, on any system. */
export const SOURCE = /[\\/](?:src|libs)[\\/].*\.ts$/;

/** Packages that load their own binaries or files, and Nest's optional packages that aren't installed. */
const NOT_BUNDLED = [
  'lmdb',
  'fs-native-extensions',
  'swagger-ui-dist',
  'class-transformer',
  '@fastify/multipart',
  '@fastify/static',
  '@fastify/view',
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/websockets',
];

/** class-validator loads this for a decorator that we don't use. Every process would have 1.5 MB of its data. */
const UNUSED = /^libphonenumber-js/;

/** swc mistakes our type for the global. Reading the global would load Node's HTTP client at every start. */
const GLOBAL_REQUEST = 'typeof Request === "undefined" ? Object : Request';

/** CommonJS packages call require. */
const MODULE_HEAD = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`;
const SCRIPT_HEAD = `"use strict"; const importMetaUrl = require('node:url').pathToFileURL(__filename).href;`;

const LOADER = join(import.meta.dirname, 'bundle', 'load.mjs');

/**
 * Bundles the programs with their packages into `folder`, laid out like `src`. Compiles nothing ahead: see
 * compiled-code.mjs. Returns the paths of the bundled files.
 *
 * `replacements` maps the ends of imported paths to the files that replace them. `modules` maps the names of more
 * outputs to their sources. `maps` also writes source maps.
 */
export async function bundle(folder, { replacements = {}, modules = {}, maps = false } = {}) {
  const entries = (names) => Object.fromEntries(names.map((name) => [name, join('src', `${name}.ts`)]));
  const options = {
    absWorkingDir: ROOT,
    outdir: folder,
    write: false,
    metafile: true,
    bundle: true,
    keepNames: true,
    platform: 'node',
    target: 'node20',
    external: NOT_BUNDLED,
    sourcemap: maps && 'linked',
    sourcesContent: false,
    logLevel: 'warning',
  };
  const compiled = new Map();
  const results = await Promise.all([
    build({
      ...options,
      entryPoints: entries(Object.keys(SCRIPTS)),
      format: 'cjs',
      outExtension: { '.js': '.cjs' },
      banner: { js: SCRIPT_HEAD },
      define: { 'import.meta.url': 'importMetaUrl' },
      // A script has no import() either.
      supported: { 'dynamic-import': false },
      plugins: [source(compiled, { replacements, extension: '.cjs' })],
    }),
    build({
      ...options,
      entryPoints: { ...entries(MODULES), ...modules },
      format: 'esm',
      banner: { js: MODULE_HEAD },
      plugins: [source(compiled, { replacements, extension: '.js' })],
    }),
  ]);
  await write(folder, results);
  return bundledFiles(results);
}

async function write(folder, results) {
  for (const { path, contents, text } of results.flatMap(({ outputFiles }) => outputFiles)) {
    await mkdir(dirname(path), { recursive: true });
    const isMap = path.endsWith('.map');
    const code = isMap ? contents : keepingNamesOfClasses(text);
    await writeFile(path, path.endsWith('.cjs') ? code.replaceAll(NOT_ASCII, escaped) : code);
  }
  await writeFile(join(folder, 'load.mjs'), await readFile(LOADER));
  for (const [name, exports] of Object.entries(SCRIPTS)) {
    const loader = `${'../'.repeat(name.split('/').length - 1) || './'}load.mjs`;
    await writeFile(join(folder, `${name}.js`), loads(`${basename(name)}.cjs`, loader, exports));
  }
}

const NAME = 'var __name = (target, value) => __defProp(target, "name", { value, configurable: true });';
const OF_CLASS = /(static \{\s*)__name(?=\(this, )/g;

/**
 * Nest and the logs use the names of classes. esbuild also names each function again whenever it is made, which would
 * raise the CPU time of a single check by 30 %.
 */
function keepingNamesOfClasses(text) {
  if (text.includes('__name(') && !text.includes(NAME))
    throw new Error('esbuild names functions in another way');
  const ofClasses = NAME.replace('__name', '__className');
  return text
    .replace(NAME, `${ofClasses} var __name = (target) => target;`)
    .replaceAll(OF_CLASS, '$1__className');
}

/** esbuild leaves them in regular expressions. Without them, the loader can read programs as latin1, which is faster. */
const NOT_ASCII = /[^\0-\x7f]/g;
const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A module that runs a script from its compiled code, and has the script's exports. */
const loads = (script, loader, names) => `import { load } from '${loader}';

export const { ${names.join(', ')} } = load(new URL('${script}', import.meta.url));
`;

function bundledFiles(results) {
  const outputs = results.flatMap(({ metafile }) => Object.values(metafile.outputs));
  const inputs = outputs.flatMap((output) => Object.entries(output.inputs));
  return [...new Set(inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path))];
}

/** Finds and compiles our sources. Both builds share `compiled`. */
function source(compiled, { replacements, extension }) {
  const separate = [...Object.keys(SCRIPTS), ...MODULES].map((name) => join(ROOT, 'src', name));
  return {
    name: 'source',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^#/ }, ({ path }) => {
        const [library = '', ...folders] = path.slice(1).split('/');
        return { path: join(ROOT, 'libs', library, 'src', ...folders, 'index.ts') };
      });
      onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: 'unused' }));
      onLoad({ filter: /^/, namespace: 'unused' }, () => ({ contents: '' }));
      // Don't bundle a program with another one that imports it. Most are imported on demand.
      onResolve({ filter: /^\.\.?\// }, ({ path, kind, importer }) => {
        const replaced = Object.keys(replacements).find((end) => path.endsWith(end));
        if (replaced !== undefined) return { path: resolve(ROOT, replacements[replaced]) };
        const file = resolve(dirname(importer), path).replace(/\.js$/, '');
        if (kind === 'entry-point' || !separate.includes(file)) return undefined;
        return { path: path.replace(/\.js$/, extension), external: true };
      });
      onLoad({ filter: SOURCE }, async ({ path }) => {
        if (!compiled.has(path)) compiled.set(path, compileSource(path));
        return { contents: await compiled.get(path), loader: 'js' };
      });
    },
  };
}

/** Compiles TypeScript with decorator metadata, which Nest needs for injection and esbuild doesn't emit. */
async function compileSource(path) {
  const { code } = await transform(await readFile(path, 'utf8'), {
    filename: path,
    swcrc: false,
    sourceMaps: 'inline',
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
    },
  });
  return code.replaceAll(GLOBAL_REQUEST, 'Object');
}
