import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import config from './jest.config.mjs';
import { specsOf } from './test/support/lanes.mjs';

const ROOTS = ['libs', 'src'];
/** Modules that start processes. */
const PROCESSES = /'node:child_process'|\/support\/(?:redis-server|service-process)\.js'/;

const specs = ROOTS.flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name)),
).filter((file) => file.endsWith('.spec.ts'));

/**
 * The specs beside the sources, except those that start a server or another process. A spec that starts a process
 * through another module fails here, because it must import the module that starts the process itself.
 *
 * @type {import('jest').Config}
 */
export default {
  ...config,
  testRegex: '\\.spec\\.ts$',
  // These specs only compute, and don't wait.
  maxWorkers: '100%',
  roots: ROOTS.map((root) => `<rootDir>/${root}`),
  testPathIgnorePatterns: [
    ...specsOf('core').testPathIgnorePatterns,
    ...specs.filter((file) => PROCESSES.test(readFileSync(file, 'utf8'))).map((file) => `<rootDir>/${file}$`),
  ],
  moduleNameMapper: {
    '^node:child_process$': '<rootDir>/test/support/no-processes.cjs',
    ...config.moduleNameMapper,
  },
};
