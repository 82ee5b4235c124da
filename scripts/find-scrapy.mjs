import { spawnSync } from 'node:child_process';

/** A Python of one's own often hides that of the system, which has the packages of the system. */
const PYTHONS = ['python3', '/usr/bin/python3'];

/**
 * The Python that runs what is written for Scrapy: the first of `$PYTHON`, `python3` and `/usr/bin/python3` that imports it.
 *
 * @returns {{ python: string, version: string } | undefined} with the version of Scrapy; undefined if none imports it.
 */
export function findScrapy() {
  for (const python of [process.env.PYTHON, ...PYTHONS]) {
    const version = python && versionOf(python);
    if (version) return { python, version };
  }
  return undefined;
}

function versionOf(python) {
  const options = { encoding: 'utf8', timeout: 60_000 };
  const { status, stdout } = spawnSync(python, ['-c', 'import scrapy; print(scrapy.__version__)'], options);
  return status === 0 ? stdout.trim() : undefined;
}
