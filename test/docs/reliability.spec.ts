import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const PAGE = readFileSync('docs/reliability.md', 'utf8');
const FILES = ['libs', 'src', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
);
const SPECS = FILES.filter((file) => file.endsWith('spec.ts'));

/** The parts in backticks that begin with a path of tests: the paths, and the pattern of `-t`. */
const COMMANDS = [...PAGE.matchAll(/`(?:npm test -- )?((?:libs|test)\/[^`]*)`/g)].map(([, command = '']) => {
  const [, paths = '', quoted, bare] = /^(.*?)(?: -t (?:"(.*)"|(\S+)))?$/.exec(command) ?? [];
  return { command, paths: paths.split(/\s+/), pattern: quoted ?? bare };
});

describe('docs/reliability.md', () => {
  it('has commands', () => {
    expect(COMMANDS.length).toBeGreaterThan(40);
  });

  it('has every figure: no place is held for one', () => {
    expect(PAGE).not.toMatch(/@[A-Z]{2,}|TODO|\?\?\?/);
  });

  it('is compared with titles, not with whatever else a test file says', () => {
    const titles = titlesOf('test/faults/killed.spec.ts');
    expect(titles).toHaveLength(4);
    expect(titles).toContain('Redis, killed under load and started again');
    expect(titles.filter((title) => /SIGKILL|redis-server|everysec/.test(title))).toEqual([]);
  });

  it.each(COMMANDS)('names tests that there are: $command', ({ paths, pattern }) => {
    for (const path of paths) {
      const found = SPECS.filter((spec) => spec.includes(path));
      expect([path, found.length]).not.toEqual([path, 0]);
    }
    if (pattern === undefined) return;
    const sources = SPECS.filter((spec) => paths.some((path) => spec.includes(path)));
    const titles = sources.flatMap(titlesOf);
    expect(titles.filter((title) => new RegExp(pattern).test(title))).not.toEqual([]);
  });
});

/** Titles that a test file gives to describe and it, `each` or not, and those of the suites that it runs. */
function titlesOf(file: string): string[] {
  const own = readFileSync(file, 'utf8');
  const suites = own.includes('storeContract')
    ? FILES.filter((one) => one.startsWith('test/contract/') && one.endsWith('.ts')).map((one) =>
        readFileSync(one, 'utf8'),
      )
    : [];
  return [own, ...suites].flatMap((source) =>
    [...source.matchAll(/(?:\b(?:describe|it)|\))\(\s*(['"`])(.+?)\1,\s/g)].map(([, , title = '']) => title),
  );
}
