import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { documentedCalls } from '../support/documented-calls.js';

const DOCS = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name));
const LIBRARIES = readdirSync('libs').map((name) => join('libs', name, 'README.md'));
const PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...DOCS, ...LIBRARIES];
const FILES = ['libs', 'scripts', 'src', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
);
const SOURCES = FILES.filter((file) => /\.(?:ts|mjs)$/.test(file));
/** Configuration files in the top folder. */
const TOP = readdirSync('.');

/** Where a page's links lead, as [file, heading]. */
function linksOf(page: string): [file: string, heading: string | undefined][] {
  const targets = [...readFileSync(page, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)].map(
    ([, target = '']) => target,
  );
  return targets
    .filter((target) => !/^https?:/.test(target))
    .map((target) => {
      const [path = '', heading] = target.split('#');
      return [path === '' ? page : normalize(join(dirname(page), path)), heading];
    });
}

/** The anchors that GitHub creates for a page's headings. */
function anchorsOf(page: string): string[] {
  const headings = [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, text = '']) => text);
  return headings.map((text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Names of source files in a text, with any part of their path. */
function filesNamedIn(text: string): string[] {
  return [...text.matchAll(/(?<![\w./*{}$-])((?:[\w-]+\/)*[\w-][\w.-]*\.(?:ts|mjs))\b(?![\w(])/g)].map(
    ([, name = '']) => name,
  );
}

/** Whether a file has this name, or a path that ends in it. */
function exists(name: string): boolean {
  return TOP.includes(name) || SOURCES.some((file) => file === name || file.endsWith(`/${name}`));
}

/** The sets and filters that a page creates, as [name, parameters]. */
function createdIn(page: string): [name: string, parameters: string][] {
  const created: [string, string][] = [];
  for (const { command } of documentedCalls(page)) {
    for (const [, name = '', options = ''] of command.matchAll(/unseen create (\S+) --(.+)/g))
      created.push([name, options.replace(/^capacity (\S+)/, (_, number) => `capacity ${Number(number)}`)]);
    for (const [, body = ''] of command.matchAll(
      /\/v1\/(?:visited-sets|filters)\s[^]*?-d '(\{"name":.+?\})'/g,
    )) {
      const { name, capacity, ...others } = JSON.parse(body) as { name: string; capacity: number };
      const more = Object.keys(others).length === 0 ? '' : ` ${JSON.stringify(others)}`;
      // A capacity of 0 is refused, which one page shows.
      if (capacity > 0) created.push([name, `capacity ${capacity}${more}`]);
    }
  }
  return created;
}

describe('the commands', () => {
  it('create each name with the same parameters on all pages, so that a reader may follow several', () => {
    const parameters = new Map<string, Set<string>>();
    for (const [name, how] of ['README.md', ...DOCS].flatMap(createdIn))
      parameters.set(name, (parameters.get(name) ?? new Set()).add(how));
    expect(parameters.size).toBeGreaterThan(10);
    expect([...parameters].filter(([, ways]) => ways.size > 1)).toEqual([]);
  });
});

describe('the README', () => {
  it('has at most 120 lines', () => {
    expect(readFileSync('README.md', 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(120);
  });

  it('links every page of docs', () => {
    expect(linksOf('README.md').map(([file]) => file)).toEqual(expect.arrayContaining(DOCS));
  });
});

describe.each(PAGES)('%s', (page) => {
  it('has no broken links', () => {
    const broken = linksOf(page).filter(
      ([file, heading]) => !existsSync(file) || (heading !== undefined && !anchorsOf(file).includes(heading)),
    );
    expect(broken).toEqual([]);
  });

  it('names source files and folders that exist', () => {
    const text = readFileSync(page, 'utf8');
    expect(filesNamedIn(text).filter((name) => !exists(name))).toEqual([]);
    // Test commands may contain only the start of a path.
    const paths = [...text.matchAll(/`((?:deploy|libs|scripts|src|test)\/[\w./-]+)`/g)].map(
      ([, path = '']) => path,
    );
    const isFound = (path: string) => existsSync(path) || FILES.some((file) => file.startsWith(path));
    expect(paths.filter((path) => !isFound(path))).toEqual([]);
  });
});

describe('comments of the sources', () => {
  it('name files that exist', () => {
    const named = SOURCES.flatMap((file) => {
      const comments = readFileSync(file, 'utf8').match(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm) ?? [];
      return filesNamedIn(comments.join('\n')).map((name) => ({ file, name }));
    });
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ name }) => !exists(name))).toEqual([]);
  });
});
