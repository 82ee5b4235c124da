import { currentLane, specsOf } from './test/support/lanes.mjs';

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/node-environment.mjs',
  roots: ['<rootDir>/libs', '<rootDir>/src', '<rootDir>/test'],
  ...specsOf(currentLane()),
  // Many files wait for servers more than they compute, above all those that only `npm run test:all` runs.
  maxWorkers: currentLane() === 'all' ? 6 : 4,
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  // Only what hangs takes so long, also on a machine that has a tenth of its time to give.
  testTimeout: 240_000,
  // A worker has no time to end while other processes keep the machine busy. What one leaves open is named per file.
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
