import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { laneOf, specsOf, type Lane } from '../support/lanes.mjs';
import { rowsOf } from '../support/markdown.js';

const PAGE = readFileSync('docs/reliability.md', 'utf8');
const FILES = ['libs', 'src', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
);
const SPECS = FILES.filter((file) => /\.(?:e2e-)?spec\.ts$/.test(file));

/** The commands on the page: their test paths, and their `-t` pattern. */
const COMMANDS = [...PAGE.matchAll(/`(?:npm test -- )?((?:libs|test)\/[^`]*)`/g)].map(([, command = '']) => {
  const [, paths = '', quoted, bare] = /^(.*?)(?: -t (?:"(.*)"|(\S+)))?$/.exec(command) ?? [];
  return { command, paths: paths.split(/\s+/), pattern: quoted ?? bare };
});

describe('docs/reliability.md', () => {
  it('has commands', () => {
    expect(COMMANDS.length).toBeGreaterThan(40);
  });

  it('has every figure, without placeholders', () => {
    expect(PAGE).not.toMatch(/@[A-Z]{2,}|TODO|\?\?\?/);
  });

  it('is compared with titles only, not with other text in a test file', () => {
    const titles = titlesOf('test/faults/killed.spec.ts');
    expect(titles).toHaveLength(4);
    expect(titles).toContain('Redis, killed under load and started again');
    expect(titles.filter((title) => /SIGKILL|redis-server|everysec/.test(title))).toEqual([]);
  });

  it.each(COMMANDS)('names tests that exist: $command', ({ paths, pattern }) => {
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

/** The specs that a table cell's commands run. Empty if the cell gives a reason instead. */
function specsIn(cell = ''): string[] {
  if (cell === '' || cell.startsWith('none: ')) return [];
  return cell.split(' ').flatMap((path) => {
    const found = SPECS.filter((spec) => spec.includes(path));
    expect([path, found.length]).not.toEqual([path, 0]);
    return found;
  });
}

/** Whether a lane runs a file, by Jest's own patterns. */
function runs(lane: Lane, file: string): boolean {
  const { testRegex, testPathIgnorePatterns } = specsOf(lane);
  return (
    new RegExp(testRegex).test(file) &&
    !testPathIgnorePatterns.some((pattern) => new RegExp(pattern).test(file))
  );
}

describe('docs/reliability.md: the lanes', () => {
  const ROWS = rowsOf('docs/reliability.md', 'promise').map(([promise = '', core = '', all = '']) => ({
    promise,
    core,
    all,
  }));
  const GUARANTEES = [...readFileSync('docs/guarantees.md', 'utf8').matchAll(/^\*\*(G\d+): /gm)].map(
    ([, name]) => name,
  );

  it('have a row for each guarantee', () => {
    expect(GUARANTEES.length).toBeGreaterThanOrEqual(8);
    expect(ROWS.map(({ promise }) => promise).filter((promise) => /^G\d+$/.test(promise))).toEqual(
      GUARANTEES,
    );
  });

  it.each(ROWS.filter(({ promise }) => /^G\d+$/.test(promise)))(
    'run $promise in `npm test`, on both stores and a cluster',
    ({ promise, core }) => {
      for (const store of ['embedded', 'redis', 'redis-cluster-moving'])
        expect(specsIn(core)).toContain(`test/contract/${store}.spec.ts`);
      const titles = specsIn(core).flatMap(titlesOf);
      expect(titles.filter((title) => title.startsWith(`${promise} `))).not.toEqual([]);
    },
  );

  it.each(ROWS)('have tests of $promise in `npm test`, or a reason', ({ core }) => {
    if (!core.startsWith('none: ')) expect(specsIn(core)).not.toEqual([]);
    expect(specsIn(core).filter((spec) => laneOf(spec) !== 'core')).toEqual([]);
  });

  it('name all specs that run in `npm run test:all` only, and no others', () => {
    const named = new Set(ROWS.flatMap(({ all }) => specsIn(all)));
    expect([...named].sort()).toEqual(SPECS.filter((spec) => laneOf(spec) === 'all').sort());
  });

  it('run every file whose name ends like a spec', () => {
    const others = FILES.filter((file) => file.endsWith('spec.ts') && !SPECS.includes(file));
    expect(others.filter((file) => readFileSync(file, 'utf8').includes('@jest/globals'))).toEqual([]);
  });

  it('run each spec: all in `npm run test:all`, and the others in `npm test`', () => {
    expect(SPECS.filter((spec) => !runs('all', spec))).toEqual([]);
    expect(SPECS.filter((spec) => runs('core', spec) !== (laneOf(spec) === 'core'))).toEqual([]);
  });
});

describe('docs/reliability.md: the mutations', () => {
  it('have a row for each list', () => {
    // Another table, which is about the simulation, has more columns.
    const rows = rowsOf('docs/reliability.md', 'list').filter((cells) => cells.length === 2);
    const named = rows.flatMap(([lists = '']) => lists.match(/[a-z-]+/g) ?? []);
    const lists = readdirSync('test/mutations').filter((name) => name.endsWith('.diff'));
    expect(named.sort()).toEqual(lists.map((name) => name.slice(0, -'.diff'.length)).sort());
  });
});

/**
 * The titles of `describe` and `it` in a test file, with or without `each`, and the titles in the suites that the file
 * runs.
 */
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
