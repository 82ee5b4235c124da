import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { billOfMaterials } from './bill-of-materials.js';

/** The part of a bill that the tests read. */
interface Bill {
  readonly components: readonly {
    readonly purl: string;
    readonly properties: readonly { readonly value: string }[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

let folder: string;
/** A user's folder, with the package in its node_modules. */
const unseen = (): string => join(folder, 'node_modules', 'unseen');

function put(path: string, content: object): void {
  const file = join(folder, 'node_modules', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(content));
}

function manifest(path: string, version: string, more: object = {}): void {
  const name = path.split('node_modules/').at(-1);
  put(`${path}/package.json`, { name, version, license: 'MIT', ...more });
}

function bundles(service: readonly object[] = []): void {
  put('unseen/dist/service/packages.cdx.json', { components: service });
  put('unseen/dist/dashboard/packages.cdx.json', { components: [] });
}

const bill = (): Bill => billOfMaterials(unseen()) as Bill;
/** `NAME@VERSION: PART, …` */
const listed = (): string[] =>
  bill().components.map(
    ({ purl, properties }) =>
      `${purl.slice('pkg:npm/'.length)}: ${properties.map(({ value }) => value).join(', ')}`,
  );

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'unseen-bill-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the bill of materials', () => {
  it('has each version on disk, and none that no package needs', () => {
    bundles();
    manifest('unseen', '1.0.0', { dependencies: { a: '1', '@b/b': '1' } });
    manifest('a', '1.0.0', { dependencies: { c: '2' }, peerDependencies: { '@b/b': '1' } });
    manifest('a/node_modules/c', '2.0.0', { dependencies: { a: '1' } });
    manifest('@b/b', '1.0.0', { dependencies: { c: '1' } });
    manifest('c', '1.0.0');
    manifest('of-another-program', '1.0.0');
    expect(listed().sort()).toEqual([
      '%40b/b@1.0.0: installed',
      'a@1.0.0: installed',
      'c@1.0.0: installed',
      'c@2.0.0: installed',
    ]);
    expect(
      Object.fromEntries(bill().dependencies.map(({ ref, dependsOn }) => [ref, [...dependsOn].sort()])),
    ).toEqual({
      'pkg:npm/unseen@1.0.0': ['pkg:npm/%40b/b@1.0.0', 'pkg:npm/a@1.0.0'],
      'pkg:npm/a@1.0.0': ['pkg:npm/%40b/b@1.0.0', 'pkg:npm/c@2.0.0'],
      'pkg:npm/c@2.0.0': ['pkg:npm/a@1.0.0'],
      'pkg:npm/%40b/b@1.0.0': ['pkg:npm/c@1.0.0'],
      'pkg:npm/c@1.0.0': [],
    });
  });

  it('has a package once that is both bundled and installed', () => {
    bundles([{ type: 'library', name: 'a', version: '1.0.0', purl: 'pkg:npm/a@1.0.0' }]);
    manifest('unseen', '1.0.0', { dependencies: { a: '1' } });
    manifest('a', '1.0.0');
    expect(listed()).toEqual(['a@1.0.0: installed, bundled into the service']);
    expect(bill().dependencies).toEqual([
      { ref: 'pkg:npm/unseen@1.0.0', dependsOn: ['pkg:npm/a@1.0.0'] },
      { ref: 'pkg:npm/a@1.0.0', dependsOn: [] },
    ]);
  });

  it('has a package once that is installed twice, with what either needs', () => {
    bundles();
    manifest('unseen', '1.0.0', { dependencies: { a: '1', b: '1', c: '1' } });
    for (const [name, version] of [
      ['a', '1.0.0'],
      ['b', '2.0.0'],
    ] as const) {
      manifest(name, '1.0.0', { dependencies: { c: '2' } });
      manifest(`${name}/node_modules/c`, '2.0.0', { dependencies: { d: '*' } });
      manifest(`${name}/node_modules/d`, version);
    }
    manifest('c', '1.0.0');
    expect(listed().sort()).toEqual([
      'a@1.0.0: installed',
      'b@1.0.0: installed',
      'c@1.0.0: installed',
      'c@2.0.0: installed',
      'd@1.0.0: installed',
      'd@2.0.0: installed',
    ]);
    expect(bill().dependencies).toContainEqual({
      ref: 'pkg:npm/c@2.0.0',
      dependsOn: ['pkg:npm/d@1.0.0', 'pkg:npm/d@2.0.0'],
    });
  });

  it('leaves out missing binaries for other platforms', () => {
    bundles();
    // npm lists optional dependencies in both.
    const both = { '@a/linux-x64': '1' };
    manifest('unseen', '1.0.0', { dependencies: both, optionalDependencies: both });
    expect(listed()).toEqual([]);
  });

  it('is refused, with the reason, if a package or a list of the build is missing', () => {
    manifest('unseen', '1.0.0', { dependencies: { a: '1' } });
    expect(bill).toThrow('a is missing: unseen needs it; install Unseen again');
    manifest('a', '1.0.0');
    expect(bill).toThrow(/packages\.cdx\.json is missing: /);
  });
});
