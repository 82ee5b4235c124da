import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { transform } from '@swc/core';
import { build, type Plugin } from 'esbuild';
import { cacheCode } from './code-cache.js';
import { filesBelow, madeOnce } from './made-once.js';

const OWN_SOURCES = ['service-program.ts', 'code-cache.ts'].map((name) => join('test', 'support', name));
/** Replacements for src/store/service-random.ts and src/store/service-clock.ts, and the module that they import. */
const FIXED_RANDOM = join('test', 'support', 'fixed-random.ts');
const TEST_CLOCK = join('test', 'support', 'service-clock.ts');
const MOVED_CLOCK = join('test', 'support', 'moved-clock.ts');
const SOURCES = ['src', 'libs'];
const PARTS = join('test', 'support', 'service-parts.ts');
const ENTRIES = [
  'src/main.ts',
  'src/cli/unseen.ts',
  'src/cli/command-line.ts',
  'src/cli/offline-keys.ts',
  'src/cli/verify.ts',
  'src/demo/main.ts',
  PARTS,
];

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

/** CommonJS packages call require. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`;

/** swc mistakes our type for the global. Reading the global would load Node's HTTP client at every start. */
const GLOBAL_REQUEST = 'typeof Request === "undefined" ? Object : Request';

type Packages = 'bundle' | 'external';

/** The programs made in this process outside Jest: `npm run history` starts services too. */
const asked = new Map<Packages, Promise<string>>();

/**
 * Builds the programs from the current sources. Returns the folder that holds them, laid out like `dist`.
 *
 * With bundled packages and compiled code, the service starts in a fifth of the CPU time. Most tests with a service
 * spend most of their CPU time on starting it. `external` leaves the packages in node_modules, for tests that check
 * which of them are loaded. The first worker builds, and the others reuse its result while the sources stay the same.
 */
export function serviceProgram(packages: Packages = 'bundle'): Promise<string> {
  // Reading all the sources takes as long as running one CLI command.
  const { onceInWorker } = globalThis;
  if (onceInWorker) return onceInWorker(`programs: ${packages}`, () => make(packages));
  const made = asked.get(packages) ?? make(packages);
  asked.set(packages, made);
  return made;
}

async function make(packages: Packages): Promise<string> {
  const isSource = (path: string): boolean => /(?<!\.spec|\.d)\.ts$/.test(path);
  const sources = await Promise.all(SOURCES.map((folder) => filesBelow(folder, isSource)));
  return madeOnce({
    kind: 'programs',
    name: packages,
    files: [...OWN_SOURCES, FIXED_RANDOM, TEST_CLOCK, MOVED_CLOCK, PARTS, ...sources.flat()],
    async into(folder) {
      await bundle(packages, folder);
      if (packages === 'bundle') await cacheCode(join(folder, 'src'), REQUIRE);
    },
  });
}

async function bundle(packages: Packages, folder: string): Promise<void> {
  await build({
    entryPoints: ENTRIES,
    outdir: folder,
    outbase: '.',
    bundle: true,
    // Nest and the logs use the names of classes.
    keepNames: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: REQUIRE },
    packages,
    // Keeps dynamic imports in separate chunks. With bundled packages, chunks would run in a different order from the
    // imports.
    splitting: packages === 'external',
    external: NOT_BUNDLED,
    plugins: [SOURCE],
    logLevel: 'warning',
  });
}

/** Compiles the TypeScript sources with decorator metadata, which Nest needs for injection and esbuild doesn't emit. */
const SOURCE: Plugin = {
  name: 'source',
  setup({ onEnd, onLoad, onResolve }) {
    let found = false;
    onEnd(() => {
      if (!found) throw new Error(`no source contains ${GLOBAL_REQUEST}`);
    });
    onResolve({ filter: /^#/ }, ({ path }) => {
      const [library = '', ...folders] = path.slice(1).split('/');
      return { path: resolve('libs', library, 'src', ...folders, 'index.ts') };
    });
    onResolve({ filter: /\/service-random\.js$/ }, () => ({ path: resolve(FIXED_RANDOM) }));
    onResolve({ filter: /\/service-clock\.js$/ }, () => ({ path: resolve(TEST_CLOCK) }));
    // Don't bundle an entry with another one that imports it. Most are imported on demand, and those that most tests
    // start have compiled code.
    onResolve({ filter: /^\.\.?\// }, ({ path, kind, importer }) => {
      const file = relative('.', resolve(dirname(importer), path)).replace(/\.js$/, '.ts');
      return kind !== 'entry-point' && ENTRIES.includes(file) ? { path, external: true } : undefined;
    });
    onLoad({ filter: /\/(?:src|libs)\/.*\.ts$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), {
        filename: path,
        swcrc: false,
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
      });
      found ||= code.includes(GLOBAL_REQUEST);
      return { contents: code.replaceAll(GLOBAL_REQUEST, 'Object'), loader: 'js' };
    });
  },
};
