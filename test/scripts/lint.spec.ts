import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const DOWN = 'unseen(imports-go-down)';
const IMPORT = 'eslint(no-restricted-imports)';
const PROPERTY = 'eslint(no-restricted-properties)';

/** A file, its text, and the rule that must refuse it. */
const PROBES: [path: string, text: string, rule?: string][] = [
  ['src/http/up.ts', "import './../filters/filters.js';", DOWN],
  ['src/http/beside.ts', "import '../http/server.js';"],
  [
    'src/http/type.ts',
    "import type { Filters } from '../filters/filters.js'; export type A = Filters;",
    DOWN,
  ],
  ['src/http/import-type.ts', "export type A = import('../filters/filters.js').Filters;", DOWN],
  ['src/http/export.ts', "export * from '../filters/filters.js';", DOWN],
  ['src/http/named.ts', "export { filters } from '../filters/filters.js';", DOWN],
  ['src/http/late.ts', "export const late = () => import('../filters/filters.js');", DOWN],
  ['src/http/entry.ts', "import '../main.js';", DOWN],
  ['src/http/down.ts', "import '../request/context.js';"],
  ['src/http/library.ts', "import '#store/redis';"],
  ['src/http/test.ts', "import '../../test/support/until.js';", DOWN],
  ['src/http/test.spec.ts', "import '../../test/support/until.js';"],
  ['src/http/up.spec.ts', "import '../filters/filters.js';", DOWN],
  ['src/auth/same-floor.ts', "import '../admission/permits.js';", DOWN],
  ['src/main.ts', "import './app.module.js';"],
  ['libs/bloom/src/up.ts', "import '#url-key';", DOWN],
  ['libs/bloom/src/service.ts', "import '../../../src/http/down.js';", DOWN],
  ['libs/url-key/src/up.ts', "import '#store';", DOWN],
  ['libs/client/src/up.ts', "import '#bloom';", DOWN],
  ['libs/store/src/up.ts', "import '#client';", DOWN],
  ['libs/store/src/shared.ts', "import './redis/index.js';", DOWN],
  ['libs/store/src/down.ts', "import '#bloom';"],
  ['libs/store/src/own.ts', "import '#store';", DOWN],
  ['libs/store/src/port/adapter.ts', "import '../redis/index.js';", DOWN],
  ['libs/store/src/transfer/adapter.ts', "import '../embedded/index.js';", DOWN],
  ['libs/store/src/embedded/items/other.ts', "import '../../redis/index.js';", DOWN],
  ['libs/store/src/redis/scripts/other.ts', "import '#store/embedded';", DOWN],
  ['libs/store/src/redis/scripts/port.ts', "import '../../port/index.js';"],
  ['libs/store/src/redis/segments/up.ts', "import '../items/counters.js';", DOWN],
  ['libs/store/src/redis/segments/down.ts', "import '../catalogue/catalogue.js';"],
  ['libs/store/src/embedded/queue/up.ts', "export type { Session } from '../engine/session.js';", DOWN],
  ['libs/store/src/embedded/queue/down.ts', "import '../filters/memory.js';"],
  ['libs/dashboard/src/formulas.ts', "import '../../bloom/src/error-rate.js';"],
  ['libs/dashboard/src/store.ts', "import '../../bloom/src/index.js';", DOWN],
  ['libs/dashboard/src/ui/up.tsx', "import '../screens/list.js';", DOWN],
  ['libs/dashboard/src/ui/app.tsx', "import '../app.js';", DOWN],
  [
    'src/filters/cycle-a.ts',
    "import { b } from './cycle-b.js'; export const a = () => b;",
    'import(no-cycle)',
  ],
  [
    'src/filters/cycle-b.ts',
    "import { a } from './cycle-a.js'; export const b = () => a;",
    'import(no-cycle)',
  ],
  ['src/batches/type-a.ts', "import type { B } from './type-b.js'; export type A = B[];", 'import(no-cycle)'],
  ['src/batches/type-b.ts', "import type { A } from './type-a.js'; export type B = A[];", 'import(no-cycle)'],
  ['src/filters/redis.ts', "import 'ioredis';", IMPORT],
  ['libs/store/src/embedded/items/redis.ts', "import 'ioredis/built/utils.js';", IMPORT],
  ['libs/store/src/redis/scripts/redis.ts', "import 'ioredis';"],
  ['libs/store/src/redis/scripts/nest.ts', "import '@nestjs/common';", IMPORT],
  ['libs/bloom/src/nest.ts', "import '@nestjs/common';", IMPORT],
  ['libs/bloom/src/nest-part.ts', "import '@nestjs/core/injector/module.js';", IMPORT],
  ['src/filters/nest.ts', "import '@nestjs/common';"],
  ['src/cli/sources/redis-set.ts', "import 'ioredis';"],
  ['src/filters/environment.ts', 'export const home = process.env.HOME;', PROPERTY],
  ['src/config/config.ts', 'export const home = process.env.HOME;'],
  ['src/filters/now.ts', 'export const now = () => Date.now();', PROPERTY],
  ['libs/store/src/embedded/items/monotonic.ts', 'export const now = () => performance.now();', PROPERTY],
  [
    'libs/store/src/redis/scripts/today.ts',
    'export const today = () => new Date();',
    'unseen(no-machine-time)',
  ],
  ['libs/store/src/redis/scripts/day.ts', 'export const day = (ms: number) => new Date(ms);'],
  ['libs/store/src/clock.ts', 'export const now = () => Date.now();'],
  ['libs/store/src/fan-out.ts', 'export const all = () => Promise.all([]);', PROPERTY],
  ['test/e2e/fan-out.ts', 'export const all = () => Promise.all([]);'],
  [
    'test/e2e/timed.ts',
    'declare const expect: (value: unknown) => { toBeLessThan(n: number): void }; expect(Date.now()).toBeLessThan(9);',
    'unseen(no-timed-expectation)',
  ],
  [
    'test/e2e/timed-limit.ts',
    'declare const expect: (value: unknown) => { toBeLessThan(n: number): void }; expect(9).toBeLessThan(performance.now());',
    'unseen(no-timed-expectation)',
  ],
  ['src/filters/backtracks.ts', 'export const slow = /^(?:a+)+$/;', 'regexp(no-super-linear-backtracking)'],
  ['src/filters/moves.ts', 'export const slow = /a*b/;', 'regexp(no-super-linear-move)'],
  ['src/filters/backtracks.spec.ts', 'export const slow = /^(?:a+)+$/;'],
  ['src/filters/floats.ts', 'void 0; Promise.resolve();', 'typescript(no-floating-promises)'],
  [
    'src/filters/any.ts',
    "export const parsed: string = JSON.parse('1');",
    'typescript(no-unsafe-assignment)',
  ],
  ['src/filters/unused.ts', 'const unused = 1; export {};', 'eslint(no-unused-vars)'],
  ['examples/worker/src/unused.ts', 'export const one = (_: string) => 1;', 'eslint(no-unused-vars)'],
];

interface Report {
  readonly diagnostics: readonly { readonly filename: string; readonly code: string }[];
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unseen-lint-'));
  for (const path of ['oxlint.config.mjs', 'scripts/lint', 'tsconfig.json'])
    await cp(path, join(folder, path), { recursive: true });
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  for (const [path, text] of PROBES) await put(path, text);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function put(path: string, text: string): Promise<void> {
  await mkdir(join(folder, dirname(path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

function lint() {
  const oxlint = join('node_modules', 'oxlint', 'bin', 'oxlint');
  return spawnSync(process.execPath, [oxlint, '-c', 'oxlint.config.mjs', '-f', 'json'], {
    cwd: folder,
    encoding: 'utf8',
  });
}

it('refuses each probe by its rule only', () => {
  const { diagnostics } = JSON.parse(lint().stdout) as Report;
  const expected = PROBES.filter(([, , rule]) => rule !== undefined).map(([path, , rule]) => [path, rule]);
  expect(diagnostics.map(({ filename, code }) => [filename, code]).sort()).toEqual(expected.sort());
});

it('refuses a room of src without a floor', async () => {
  await put('src/unplaced/file.ts', 'export {};');
  const { status, stdout, stderr } = lint();
  expect(status).not.toBe(0);
  expect(stdout + stderr).toContain('src has rooms without a floor: unplaced');
});
