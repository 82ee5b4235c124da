import { spawnSync } from 'node:child_process';

/** A user's own Python often hides the system's Python, which may be the one that has Scrapy. */
const PYTHONS = ['python3', '/usr/bin/python3'];

/**
 * Prints the version of Scrapy, and whether Python can build wheels: setuptools needs no other package for that since
 * 70.1.
 */
const LOOK = `
import scrapy
print(scrapy.__version__)
try:
    import setuptools.command.bdist_wheel
except ImportError:
    import setuptools, wheel
print("builds")
`;

/**
 * The Python for Scrapy. It is the first of `$PYTHON`, `python3` and `/usr/bin/python3` that can import it.
 *
 * @returns {{ python: string, version: string, builds: boolean } | undefined} the version is Scrapy's; `builds` tells
 *   whether it can build wheels. undefined if none can import it.
 */
export function findScrapy() {
  for (const python of [process.env.PYTHON, ...PYTHONS]) {
    const [version, builds] = python ? lookAt(python) : [];
    if (version) return { python, version, builds: builds === 'builds' };
  }
  return undefined;
}

function lookAt(python) {
  const options = { encoding: 'utf8', timeout: 60_000 };
  const { stdout } = spawnSync(python, ['-c', LOOK], options);
  return stdout?.trim().split('\n') ?? [];
}
