import { join } from 'node:path';
import { firstPython, PYTHON_TOOLS, withPythonPath } from './pythons.mjs';

/** The folder for scrapy-redis and the packages that it needs besides Scrapy. */
export const SCRAPY_REDIS = join(PYTHON_TOOLS, 'scrapy-redis');

const LOOK = `
import scrapy, scrapy_redis
print(scrapy_redis.__version__)
`;

/**
 * The Python for scrapy-redis: the first that can import it and Scrapy.
 *
 * @returns {{ python: string, pythonPath: string, version: string } | undefined} it needs the PYTHONPATH; the version is
 *   scrapy-redis'. undefined if none can import both.
 */
export function findScrapyRedis() {
  const found = firstPython(LOOK, SCRAPY_REDIS);
  if (!found) return undefined;
  return { python: found.python, pythonPath: withPythonPath(SCRAPY_REDIS), version: found.lines[0] };
}
