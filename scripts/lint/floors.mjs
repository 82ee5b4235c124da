import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A rule about import direction. No file in `target` may import a file from `from`, not even its types. Both are files
 * or folders. `except` names files in `from` that may be imported.
 *
 * @typedef {{ target: string, from: string[], except?: string[], message: string }} Zone
 */

/**
 * A folder's rooms, floor by floor. A room imports only from lower floors. Rooms on one floor don't import each other.
 *
 * @param {string} folder
 * @param {string[][]} floors
 * @returns {Zone[]}
 */
function onlyDown(folder, [top, ...below]) {
  return below.flatMap((floor, i) =>
    floor.map((room) => ({
      target: `${folder}/${room}`,
      from: [top, ...below.slice(0, i + 1)]
        .flat()
        .filter((other) => other !== room)
        .map((other) => `${folder}/${other}`),
      message: `${folder}/${room} imports only from the floors below its own`,
    })),
  );
}

/** The rooms of src. Only the entries, on the top floor, may import each other. */
const FLOORS = [
  ['main.ts', 'app.setup.ts', 'app.module.ts', 'start-failure.ts', 'cli', 'demo'],
  ['transfer', 'syncs', 'history', 'resp'],
  ['visited-sets'],
  ['filters'],
  ['batches'],
  ['auth', 'admission', 'operation', 'dashboard'],
  ['http'],
  ['metrics'],
  ['validation', 'logging', 'store'],
  ['openapi', 'config', 'idempotency'],
  ['request'],
  ['errors', 'event-loop', 'tracing', 'assets'],
  ['version.ts'],
];

/** The Redis store's rooms. */
const REDIS_FLOORS = [
  ['index.ts', 'redis-store.ts', 'credentials.ts', 'rate-limiter.ts', 'cluster-key-slot.d.ts'],
  ['syncs'],
  ['transfer'],
  ['items', 'queue'],
  ['segments'],
  ['catalogue'],
  ['connection', 'layout'],
  ['scripts'],
];

/** The embedded store's rooms. */
const EMBEDDED_FLOORS = [
  ['index.ts', 'embedded-store.ts', 'verify-directory.ts'],
  ['calls'],
  ['syncs', 'transfer'],
  ['catalogue'],
  ['engine'],
  ['items', 'queue'],
  ['journal'],
  ['filters'],
  ['layers', 'operations', 'directory'],
  ['database'],
  ['data-file', 'hashes'],
];

/** Specs beside the rooms test them all together. */
const isTest = (name) => name === 'testing' || name.endsWith('.spec.ts');

const root = join(import.meta.dirname, '../..');
for (const [folder, floors] of [
  ['src', FLOORS],
  ['libs/store/src/redis', REDIS_FLOORS],
  ['libs/store/src/embedded', EMBEDDED_FLOORS],
]) {
  const names = readdirSync(join(root, folder)).filter((name) => !isTest(name));
  const unplaced = names.filter((name) => !floors.flat().includes(name));
  if (unplaced.length > 0) throw new Error(`${folder} has rooms without a floor: ${unplaced.join(', ')}`);
}

/**
 * Imports only go down: src -> libs/store -> libs/bloom.
 *
 * @type {Zone[]}
 */
export const ZONES = [
  {
    target: 'libs/bloom',
    from: ['libs/url-key', 'libs/store', 'libs/client', 'libs/dashboard'],
    message: 'libs/bloom imports no other library',
  },
  {
    target: 'libs/url-key',
    from: ['libs/bloom', 'libs/store', 'libs/client', 'libs/dashboard'],
    message: 'libs/url-key imports no other library',
  },
  {
    target: 'libs/client',
    from: ['libs/bloom', 'libs/url-key', 'libs/store', 'libs/dashboard'],
    message: 'users install libs/client alone, so it imports no other library',
  },
  {
    target: 'libs/store',
    from: ['libs/url-key', 'libs/client', 'libs/dashboard'],
    message: 'a store knows positions, not URLs',
  },
  {
    target: 'libs/dashboard',
    from: ['libs/bloom', 'libs/url-key', 'libs/store'],
    except: ['libs/bloom/src/error-rate.ts'],
    message: 'the dashboard uses only the client and the error rate formula',
  },
  ...onlyDown('libs/dashboard/src', [['app.tsx'], ['screens'], ['jobs'], ['lines'], ['ui']]),
  {
    target: 'libs/store/src/embedded',
    from: ['libs/store/src/redis'],
    message: 'the adapters do not import each other',
  },
  {
    target: 'libs/store/src/redis',
    from: ['libs/store/src/embedded'],
    message: 'the adapters do not import each other',
  },
  ...['*.ts', 'port', 'transfer', 'export-file'].map((target) => ({
    target: `libs/store/src/${target}`,
    from: ['libs/store/src/embedded', 'libs/store/src/redis'],
    message: 'the port does not know its adapters',
  })),
  { target: 'libs', from: ['src'], message: 'libraries do not know the service' },
  ...onlyDown('libs/store/src/redis', REDIS_FLOORS),
  ...onlyDown('libs/store/src/embedded', EMBEDDED_FLOORS),
  ...onlyDown('src', FLOORS),
];

/**
 * Tests import sources, and sources never import tests. Specs are exempt.
 *
 * @type {Zone[]}
 */
export const SOURCE_ZONES = ['src', 'libs'].map((target) => ({
  target,
  from: ['test'],
  message: 'sources know no tests',
}));
