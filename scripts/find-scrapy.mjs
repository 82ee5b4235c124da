import { firstPython } from './pythons.mjs';

/**
 * Prints the version of Scrapy, and whether Python can build wheels and install them into an environment: setuptools
 * needs no other package for wheels since 70.1.
 */
const LOOK = `
import scrapy
print(scrapy.__version__)
try:
    import setuptools.command.bdist_wheel
except ImportError:
    import setuptools, wheel
import ensurepip, venv
print("builds")
`;

/**
 * The Python for Scrapy: the first that can import it.
 *
 * @returns {{ python: string, version: string, builds: boolean } | undefined} the version is Scrapy's; `builds` tells
 *   whether it can build and install wheels. undefined if none can import it.
 */
export function findScrapy() {
  const found = firstPython(LOOK);
  if (!found) return undefined;
  const [version, builds] = found.lines;
  return { python: found.python, version, builds: builds === 'builds' };
}
