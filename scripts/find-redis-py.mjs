import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { firstPython, PYTHON_TOOLS } from './pythons.mjs';

/** The version of redis-py whose tests run. docs/redis-protocol.md lists those that cannot pass. */
export const REDIS_PY = '8.1.0';

/** Prints the version of pytest, if redis-py's tests have all packages that they need. */
const LOOK = `
import sys, packaging, pytest
if sys.version_info < (3, 11, 3):
    import async_timeout
print(pytest.__version__)
`;

/**
 * The folder for redis-py's sources with its tests, and the Python that runs them. The folder is `$REDIS_PY` if that is
 * set.
 *
 * @returns {{ folder: string, exists: boolean, python?: string }} no `python` if none can import pytest
 */
export function findRedisPy() {
  const folder = process.env.REDIS_PY || join(PYTHON_TOOLS, `redis-${REDIS_PY}`);
  const python = firstPython(LOOK)?.python;
  return { folder, exists: existsSync(join(folder, 'tests', 'test_bloom.py')), python };
}
