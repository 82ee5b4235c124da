import { spawnSync } from 'node:child_process';

/** A Python of one's own often hides that of the system, which has the packages of the system. */
const PYTHONS = ['python3', '/usr/bin/python3'];

/** Says the version of Scrapy, and whether wheels can be built: setuptools does it alone since 70.1. */
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
 * The Python that runs what is written for Scrapy: the first of `$PYTHON`, `python3` and `/usr/bin/python3` that imports it.
 *
 * @returns {{ python: string, version: string, builds: boolean } | undefined} with the version of Scrapy, and whether it builds
 *   wheels; undefined if none imports it.
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
