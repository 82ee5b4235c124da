import { currentLane, specsOf } from './test/support/lanes.mjs';

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/node-environment.mjs',
  roots: ['<rootDir>/libs', '<rootDir>/src', '<rootDir>/test'],
  ...specsOf(currentLane()),
  // Many files mostly wait for servers, especially the files that only `npm run test:all` runs.
  maxWorkers: currentLane() === 'all' ? 6 : 4,
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  // Only a test that hangs takes this long, even on a machine that is overloaded tenfold.
  testTimeout: 240_000,
  // Workers end slowly on a busy machine. The test environment names the handles that a file leaves open.
  workerGracefulExitTimeout: 60_000,
  reporters: ['default', '<rootDir>/test/support/summary-reporter.mjs'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
        module: { type: 'es6' },
      },
    ],
  },
  moduleNameMapper: {
    '/service-random\\.js$': '<rootDir>/test/support/fixed-random.ts',
    '/service-clock\\.js$': '<rootDir>/test/support/service-clock.ts',
    '^#store/(.*)$': '<rootDir>/libs/store/src/$1/index.ts',
    '^#(bloom|client|url-key|store)$': '<rootDir>/libs/$1/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
};
