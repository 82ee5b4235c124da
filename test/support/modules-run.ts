import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from './service-process.js';

/** The modules that a service has run. */
export interface ModulesRun {
  /** Paths of bundled modules. */
  readonly bundled: readonly string[];
  /** Names of packages that it has loaded from node_modules. */
  readonly packages: readonly string[];
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

const PACKAGE = /^file:.*?\/node_modules\/((?:@[^/]+\/)?[^./][^/]*)\//;
/** esbuild makes a function of each module, and names it by the module's path. */
const MODULE = /\/.*\.\w+$/;
/** What precedes `node_modules` if that is a link to another folder. */
const BEFORE_PACKAGES = /^.*\b(?=node_modules\/)/;

/** Starts a service, and stops it after `use`. */
export async function modulesRun(
  env: Readonly<Record<string, string>>,
  use: (url: string) => Promise<void>,
): Promise<ModulesRun> {
  const folder = await mkdtemp(join(tmpdir(), 'unseen-coverage-'));
  const service = await startProcess({ ...env, NODE_V8_COVERAGE: folder });
  try {
    await use(await service.url());
    service.child.kill('SIGTERM');
    if ((await service.exit()) !== 0) throw new Error(`the service failed: ${service.stderr()}`);
    const files = await Promise.all(
      (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
    );
    const scripts = files.flatMap((text) => (JSON.parse(text) as Coverage).result);
    const packages = scripts.flatMap(({ url }) => PACKAGE.exec(url)?.[1] ?? []);
    const bundled = scripts
      .flatMap(({ functions }) => functions)
      .filter(({ functionName, ranges }) => MODULE.test(functionName) && (ranges[0]?.count ?? 0) > 0)
      .map(({ functionName }) => functionName.replace(BEFORE_PACKAGES, ''));
    return { bundled, packages: [...new Set(packages)] };
  } finally {
    await service.clean();
    await rm(folder, { recursive: true, force: true });
  }
}
