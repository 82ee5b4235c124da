import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createNodeResolver, importX } from 'eslint-plugin-import-x';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

const root = import.meta.dirname;

/** package.json's "imports" name built files; lint follows them to the sources. */
const resolver = createNodeResolver({
  alias: {
    '#bloom': [join(root, 'libs/bloom/src/index.ts')],
    '#client': [join(root, 'libs/client/src/index.ts')],
    '#url-key': [join(root, 'libs/url-key/src/index.ts')],
    '#store/embedded': [join(root, 'libs/store/src/embedded/index.ts')],
    '#store/redis': [join(root, 'libs/store/src/redis/index.ts')],
    '#store': [join(root, 'libs/store/src/index.ts')],
  },
  extensions: ['.ts', '.tsx', '.mjs', '.js', '.json'],
  extensionAlias: { '.js': ['.ts', '.tsx', '.js'] },
  conditionNames: ['import', 'node', 'default'],
});

/** Of rooms in a folder, each of which imports from those after it only. */
function onlyDown(folder, rooms) {
  return rooms.slice(1).map((room, i) => ({
    target: `${folder}/${room}`,
    from: rooms.slice(0, i + 1).map((above) => `${folder}/${above}`),
    message: `${folder}/${room} imports from the floors below its own only`,
  }));
}

/** Imports only go down: src -> libs/store -> libs/bloom. */
const DIRECTION = [
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
    message: 'libs/client goes to users alone, and imports no other library',
  },
  {
    target: 'libs/store',
    from: ['libs/url-key', 'libs/client', 'libs/dashboard'],
    message: 'a store knows positions, not URLs',
  },
  {
    target: 'libs/dashboard',
    from: ['libs/bloom', 'libs/url-key', 'libs/store'],
    except: ['src/error-rate.ts'],
    message: 'the dashboard knows the service through its client, and of the filters the formulas only',
  },
  ...onlyDown('libs/dashboard/src', ['app.tsx', 'screens', 'jobs', 'lines', 'ui']),
  { target: 'libs/store/src/embedded', from: 'libs/store/src/redis', message: 'the adapters are apart' },
  { target: 'libs/store/src/redis', from: 'libs/store/src/embedded', message: 'the adapters are apart' },
  {
    target: 'libs/store/src/*.ts',
    from: ['libs/store/src/embedded', 'libs/store/src/redis'],
    message: 'the port does not know its adapters',
  },
  { target: 'libs', from: 'src', message: 'libraries do not know the service' },
];

/**
 * The rooms of src, floor by floor. A room imports from floors below its own only, types too; rooms on one floor do not
 * know each other, but for the entries at the top.
 */
const FLOORS = [
  ['main.ts', 'app.setup.ts', 'app.module.ts', 'start-failure.ts', 'cli', 'demo'],
  ['transfer', 'syncs', 'history'],
  ['visited-sets'],
  ['filters'],
  ['batches'],
  ['auth', 'admission', 'operation', 'dashboard'],
  ['http'],
  ['metrics'],
  ['validation', 'logging', 'store'],
  ['openapi', 'config', 'idempotency'],
  ['request'],
  ['errors', 'event-loop', 'assets'],
];

const [ENTRY, ...ROOMS] = FLOORS;

const ONLY_DOWN = ROOMS.flatMap((floor, i) =>
  floor.map((room) => ({
    target: `src/${room}`,
    from: [...ENTRY, ...ROOMS.slice(0, i + 1).flat()]
      .filter((other) => other !== room)
      .map((other) => `src/${other}`),
    message: `src/${room} imports from the floors below its own only`,
  })),
);

const unplaced = readdirSync(join(root, 'src')).filter((name) => !FLOORS.flat().includes(name));
if (unplaced.length > 0) throw new Error(`src has rooms without a floor: ${unplaced.join(', ')}`);

const FAN_OUT = {
  object: 'Promise',
  property: 'all',
  message: 'it throws while other calls are still under way: use joinAll of libs/store',
};

const TESTS = '**/*spec.ts';

const TIMED = {
  selector:
    "CallExpression[callee.property.name=/^toBe(Less|Greater)/]:has(CallExpression[callee.object.name=/^(performance|Date)$/][callee.property.name='now'])",
  message:
    'no test depends on speed: wait for an event (until) or count. To compare stamps, never durations, read the clock into a variable',
};

const REDIS_CLIENT = {
  group: ['ioredis', 'ioredis/*', 'cluster-key-slot'],
  message: 'only libs/store/src/redis, and what reads a SET of others, know the Redis client',
};
const NEST = { group: ['@nestjs/*'], message: 'only src knows Nest' };
const ENVIRONMENT = {
  object: 'process',
  property: 'env',
  message: 'only src/config/config.ts reads the environment',
};

/** The time of tests is moved: see libs/store/src/clock.ts. */
const MACHINE_CLOCK = ['Date', 'performance'].map((object) => ({
  object,
  property: 'now',
  message: 'ask the Clock for the time, and deadlineIn for the deadline of a call',
}));
const MACHINE_TIME = {
  selector: "NewExpression[callee.name='Date'][arguments.length=0]",
  message: 'ask the Clock for the time',
};

export default tseslint.config(
  // The kernel is AssemblyScript: its own tsconfig.json checks it.
  { ignores: ['**/dist', '**/node_modules', 'coverage', 'data', 'libs/bloom/kernel'] },
  {
    // Examples have packages of their own, which may not be there: their tests check their types.
    files: ['examples/**/*.ts'],
    extends: [tseslint.configs.strict],
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    ignores: ['examples/**'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
    plugins: { 'import-x': importX },
    settings: { ...importX.flatConfigs.typescript.settings, 'import-x/resolver-next': [resolver] },
    rules: {
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      'import-x/no-unresolved': 'error',
      'import-x/no-restricted-paths': ['error', { basePath: root, zones: [...DIRECTION, ...ONLY_DOWN] }],
      'no-restricted-imports': ['error', { patterns: [REDIS_CLIENT, NEST] }],
      'no-restricted-properties': ['error', ENVIRONMENT, FAN_OUT],
      // `() => void call()` says no more than `() => call()`.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // A method is async because its interface answers a promise, also where it need not wait.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-plus-operands': ['error', { allowNumberAndString: true }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // Classes of plain data describe JSON; object literals are how they are made.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
    },
  },
  {
    // Sources are imported by tests, never the other way round.
    files: ['src/**/*.ts', 'libs/**/*.ts', 'libs/**/*.tsx'],
    ignores: [TESTS],
    rules: {
      'import-x/no-restricted-paths': [
        'error',
        {
          basePath: root,
          zones: [
            ...DIRECTION,
            ...ONLY_DOWN,
            { target: ['src', 'libs'], from: 'test', message: 'sources know no tests' },
          ],
        },
      ],
    },
  },
  {
    // Regular expressions that take more than linear time. The dashboard reads only what its own user types.
    files: ['src/**/*.ts', 'libs/**/*.ts'],
    // Cuts a text to 1,024 characters before it looks for userinfo.
    ignores: [TESTS, '**/testing/**', 'libs/dashboard/**', 'src/errors/show.ts'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
    },
  },
  {
    files: ['libs/store/src/redis/**/*.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [NEST] }] },
  },
  { files: ['src/**/*.ts'], rules: { 'no-restricted-imports': ['error', { patterns: [REDIS_CLIENT] }] } },
  // What others have put into Redis.
  {
    files: ['src/cli/sources/redis-set.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [NEST] }] },
  },
  {
    files: ['src/**/*.ts', 'libs/store/src/**/*.ts'],
    ignores: [
      TESTS,
      'libs/store/src/clock.ts',
      // Programs that show how long their own work takes, and a turn of the event loop is as long as it is.
      'src/cli/**',
      'src/demo/**',
      'src/event-loop/**',
      'libs/store/src/embedded/**',
      'libs/store/src/export-file/**',
    ],
    rules: {
      'no-restricted-properties': ['error', ENVIRONMENT, FAN_OUT, ...MACHINE_CLOCK],
      'no-restricted-syntax': ['error', MACHINE_TIME],
    },
  },
  { files: ['src/config/config.ts'], rules: { 'no-restricted-properties': ['error', FAN_OUT] } },
  {
    files: ['test/**/*.ts', TESTS],
    rules: {
      'no-restricted-imports': 'off',
      'no-restricted-properties': 'off',
      'no-restricted-syntax': ['error', TIMED],
      // What a test has just made is there, and helpers are taken out of their objects by name.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
