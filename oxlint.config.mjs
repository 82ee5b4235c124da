const FAN_OUT = {
  object: 'Promise',
  property: 'all',
  message: 'it throws while other calls are still in progress: use joinAll of libs/store',
};
const ENVIRONMENT = {
  object: 'process',
  property: 'env',
  message: 'only src/config/config.ts reads the environment',
};
const REDIS_CLIENT = {
  group: ['ioredis', 'ioredis/**', 'cluster-key-slot'],
  message: 'only libs/store/src/redis and the source for Redis sets import the Redis client',
};
/** The time of tests is moved: see libs/store/src/clock.ts. */
const MACHINE_CLOCK = ['Date', 'performance'].map((object) => ({
  object,
  property: 'now',
  message: 'ask the Clock for the time, and deadlineIn for the deadline of a call',
}));
const NEST = { group: ['@nestjs/**'], message: 'only src imports Nest' };

/** @param {object[]} patterns */
const restrictImports = (...patterns) => ({ 'no-restricted-imports': ['error', { patterns }] });

/** @param {string[]} names */
const errors = (...names) => Object.fromEntries(names.map((name) => [name, 'error']));

/** The strict rules of typescript-eslint that need no types. */
const UNTYPED = {
  ...errors('no-array-constructor', 'no-unused-vars', 'no-useless-constructor', 'no-var', 'prefer-const'),
  ...errors('no-unused-expressions', 'prefer-rest-params', 'prefer-spread'),
  ...errors(
    'typescript/ban-ts-comment',
    'typescript/no-duplicate-enum-values',
    'typescript/no-dynamic-delete',
    'typescript/no-empty-object-type',
    'typescript/no-explicit-any',
    'typescript/no-extra-non-null-assertion',
    'typescript/no-extraneous-class',
    'typescript/no-invalid-void-type',
    'typescript/no-misused-new',
    'typescript/no-namespace',
    'typescript/no-non-null-asserted-nullish-coalescing',
    'typescript/no-non-null-asserted-optional-chain',
    'typescript/no-non-null-assertion',
    'typescript/no-require-imports',
    'typescript/no-this-alias',
    'typescript/no-unnecessary-type-constraint',
    'typescript/no-unsafe-declaration-merging',
    'typescript/no-unsafe-function-type',
    'typescript/no-wrapper-object-types',
    'typescript/prefer-as-const',
    'typescript/prefer-literal-enum-member',
    'typescript/prefer-namespace-keyword',
    'typescript/triple-slash-reference',
    'typescript/unified-signatures',
  ),
};

/** The strict rules of typescript-eslint that need types. */
const TYPED = {
  ...errors(
    'typescript/await-thenable',
    'typescript/no-array-delete',
    'typescript/no-base-to-string',
    'typescript/no-deprecated',
    'typescript/no-duplicate-type-constituents',
    'typescript/no-floating-promises',
    'typescript/no-for-in-array',
    'typescript/no-generated-empty-object-type',
    'typescript/no-implied-eval',
    'typescript/no-meaningless-void-operator',
    'typescript/no-misused-promises',
    'typescript/no-misused-spread',
    'typescript/no-mixed-enums',
    'typescript/no-redundant-type-constituents',
    'typescript/no-unnecessary-boolean-literal-compare',
    'typescript/no-unnecessary-condition',
    'typescript/no-unnecessary-template-expression',
    'typescript/no-unnecessary-type-arguments',
    'typescript/no-unnecessary-type-assertion',
    'typescript/no-unnecessary-type-conversion',
    'typescript/no-unnecessary-type-parameters',
    'typescript/no-unsafe-argument',
    'typescript/no-unsafe-assignment',
    'typescript/no-unsafe-call',
    'typescript/no-unsafe-enum-assignment',
    'typescript/no-unsafe-enum-comparison',
    'typescript/no-unsafe-member-access',
    'typescript/no-unsafe-return',
    'typescript/no-unsafe-unary-minus',
    'typescript/no-useless-default-assignment',
    'typescript/only-throw-error',
    'typescript/prefer-promise-reject-errors',
    'typescript/prefer-reduce-type-parameter',
    'typescript/prefer-return-this-type',
    'typescript/related-getter-setter-pairs',
    'typescript/unbound-method',
    'typescript/use-unknown-in-catch-callback-variable',
  ),
  // `() => void call()` is no clearer than `() => call()`.
  'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
  'typescript/restrict-plus-operands': ['error', { allowNumberAndString: true }],
  'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
  'typescript/return-await': ['error', 'error-handling-correctness-only'],
};

const TESTS = '**/*spec.ts';

export default {
  plugins: ['typescript', 'import'],
  jsPlugins: ['./scripts/lint/plugin.mjs', 'eslint-plugin-regexp'],
  categories: { correctness: 'off' },
  options: { typeAware: true },
  // The kernel is AssemblyScript: its own tsconfig.json checks it.
  ignorePatterns: ['**/dist', '**/node_modules', 'coverage', 'data', 'libs/bloom/kernel'],
  overrides: [
    // The examples' packages may not be installed. The examples' tests check their types.
    { files: ['**/*.ts', '**/*.tsx'], rules: UNTYPED },
    {
      files: ['**/*.ts', '**/*.tsx'],
      excludeFiles: ['examples/**'],
      rules: {
        ...TYPED,
        'import/no-cycle': ['error', { ignoreExternal: true, ignoreTypes: false }],
        ...restrictImports(REDIS_CLIENT, NEST),
        'no-restricted-properties': ['error', ENVIRONMENT, FAN_OUT],
        'no-unused-vars': [
          'error',
          { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
        ],
        'typescript/no-extraneous-class': ['error', { allowWithDecorator: true }],
        'unseen/imports-go-down': 'error',
      },
    },
    {
      // Regular expressions that may take more than linear time. The dashboard reads only its own user's input.
      files: ['src/**/*.ts', 'libs/**/*.ts'],
      // The last file cuts a text to 1,024 characters before it looks for userinfo.
      excludeFiles: [TESTS, '**/testing/**', 'libs/dashboard/**', 'src/errors/show.ts'],
      rules: {
        'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
        'regexp/no-super-linear-move': ['error', { report: 'potential' }],
      },
    },
    { files: ['libs/store/src/redis/**/*.ts'], rules: restrictImports(NEST) },
    { files: ['src/**/*.ts'], rules: restrictImports(REDIS_CLIENT) },
    // Reads another program's Redis set.
    { files: ['src/cli/sources/redis-set.ts'], rules: restrictImports(NEST) },
    {
      files: ['src/**/*.ts', 'libs/store/src/**/*.ts'],
      excludeFiles: [
        TESTS,
        '**/testing/**',
        'libs/store/src/clock.ts',
        // These measure how long things really take, which are their own work and an event-loop turn.
        'src/cli/**',
        'src/demo/**',
        'src/event-loop/**',
      ],
      rules: {
        'no-restricted-properties': ['error', ENVIRONMENT, FAN_OUT, ...MACHINE_CLOCK],
        'unseen/no-machine-time': 'error',
      },
    },
    {
      files: ['src/config/config.ts'],
      rules: { 'no-restricted-properties': ['error', FAN_OUT, ...MACHINE_CLOCK] },
    },
    {
      files: ['test/**/*.ts', TESTS],
      rules: {
        'no-restricted-imports': 'off',
        'no-restricted-properties': 'off',
        'unseen/no-timed-expectation': 'error',
        // Values that a test has just created exist, and tests detach helpers from their objects.
        'typescript/no-non-null-assertion': 'off',
        'typescript/unbound-method': 'off',
      },
    },
  ],
};
