import { spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { assertBuilt } from '../../scripts/built.mjs';
import { INSTALLED, titleOf } from '../support/lock-file.js';
import { startProcess } from '../support/service-process.js';
import { statusOf } from '../support/status-of.js';

assertBuilt();

const LICENCES = { service: 'dist/service/LICENSES.txt', page: 'dist/dashboard/LICENSES.txt' };
/** Users may ship packages under these licences without further duties than to keep the texts. */
const PERMISSIVE = ['MIT', 'Apache-2.0', 'BSD-3-Clause', 'ISC', 'BlueOak-1.0.0', '0BSD'];
const RECORD = join('scripts', 'bundle', 'record.mjs');

/** Prints to stderr whether V8 has accepted the compiled code of a script. */
const WATCH = `import { syncBuiltinESMExports } from 'node:module';
import vm from 'node:vm';
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    process.stderr.write(this.cachedDataRejected === false ? 'accepted' : 'rejected');
  }
};
syncBuiltinESMExports();`;
const WATCHED = ['--import', `data:text/javascript,${encodeURIComponent(WATCH)}`];

interface Bill {
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly licenses?: readonly { readonly expression: string }[];
    readonly properties?: readonly { readonly value: string }[];
  }[];
}
const billOf = (folder: string): Bill =>
  JSON.parse(readFileSync(join(folder, 'packages.cdx.json'), 'utf8')) as Bill;

describe('the built service', () => {
  it('starts with npm start, and serves its pages', async () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { start: string } };
    const [, main = ''] = /^node (\S+)$/.exec(scripts.start) ?? [];
    const service = await startProcess({}, { main });
    try {
      const url = await service.url();
      for (const path of ['/readyz', '/docs/swagger-ui.css', '/openapi.json', '/dashboard']) {
        expect([path, await statusOf(url + path)]).toEqual([path, 200]);
      }
      service.child.kill('SIGTERM');
      expect([await service.exit(), service.stderr()]).toEqual([0, '']);
    } finally {
      await service.clean();
    }
  });

  it('starts from compiled code', () => {
    const { status, stdout, stderr } = node(...WATCHED, 'dist/service/cli/unseen.js', '--version');
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^\d/)]);
    if (stderr !== 'accepted')
      throw new Error('no code for this Node.js is accepted: run npm run build with it');
  });

  it('loads OpenTelemetry from compiled code', async () => {
    const settings = {
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_TRACES_SAMPLER: 'always_off' },
      NODE_OPTIONS: WATCHED.join(' '),
    };
    const service = await startProcess(settings, { main: 'dist/service/main.js' });
    try {
      await service.url();
      expect(service.stderr()).toBe('acceptedaccepted');
    } finally {
      await service.clean();
    }
  });

  it('names the source files in stack traces, with --enable-source-maps', () => {
    const tell = `process.stderr.write = () => process.stdout.write(new Error('a message').stack);`;
    const flags = ['--enable-source-maps', '--import', `data:text/javascript,${encodeURIComponent(tell)}`];
    const { stdout } = node(...flags, 'dist/service/cli/unseen.js', 'list', '--url', 'http://127.0.0.1:1');
    expect(stdout).toMatch(/src\/cli\/\S+\.ts:\d+:\d+/);
  });

  it.each(Object.entries(LICENCES))('has the licence of each package in its bundle: %s', (_, file) => {
    const text = readFileSync(file, 'utf8');
    const { components } = billOf(join(file, '..'));
    expect(components.length).toBeGreaterThan(2);
    const chapters = text.split(/^-{80}\n(.+)\n-{80}\n/m).slice(1);
    const licences = new Map(chapters.flatMap((title, i) => (i % 2 === 0 ? [[title, chapters[i + 1]]] : [])));
    for (const { name, version } of components) {
      const licence = [...licences].find(([title]) => title.startsWith(`${name} ${version} (`))?.[1];
      expect([name, licence]).toEqual([name, expect.stringMatching(/copyright|permission/i)]);
    }
    expect(licences.size).toBe(components.length);
  });

  it('lists every package that esbuild has bundled', () => {
    const names = new Set(billOf(join('dist', 'service')).components.map(({ name }) => name));
    const modules = readFileSync(join('dist', 'service', 'main.cjs'), 'utf8').matchAll(
      /^ +"node_modules\/(?:.*\/node_modules\/)?((?:@[^/"]+\/)?[^/"]+)\/[^"]*"\(/gm,
    );
    const bundled = new Set([...modules].map(([, name]) => name));
    expect(bundled.size).toBeGreaterThan(30);
    expect([...bundled].filter((name) => !names.has(name!))).toEqual([]);
  });
});

describe('unseen sbom', () => {
  const print = (): Bill => {
    const { status, stdout, stderr } = node('dist/service/cli/unseen.js', 'sbom');
    expect([status, stderr]).toEqual([0, '']);
    return JSON.parse(stdout) as Bill;
  };

  it('prints the bundled packages and the installed ones, with their versions and licences', () => {
    const { components } = print();
    const packagesOf = (part: string): string[] =>
      components
        .filter(({ properties = [] }) => properties.some(({ value }) => value === part))
        .map(({ name, version }) => `${name}@${version}`)
        .sort();
    for (const folder of ['service', 'dashboard']) {
      const bundled = billOf(join('dist', folder)).components.map(
        ({ name, version }) => `${name}@${version}`,
      );
      expect(packagesOf(`bundled into the ${folder}`)).toEqual(bundled.sort());
    }
    const installed = Object.entries(INSTALLED).map(([path, found]) => titleOf(path, found));
    expect(installed).toContainEqual(expect.stringMatching(/^lmdb@\d/));
    expect(packagesOf('installed')).toEqual(installed.sort());
    const others = components.filter(
      ({ licenses }) => !PERMISSIVE.includes(licenses?.map(({ expression }) => expression).join() ?? ''),
    );
    expect(others).toEqual([]);
  });

  it('says why stdout takes no output', () => {
    // Only Linux has this device.
    if (!existsSync('/dev/full')) return;
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(process.execPath, ['dist/service/cli/unseen.js', 'sbom'], {
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    expect([status, stderr.toString()]).toEqual([
      2,
      expect.stringMatching(/^unseen: cannot write the results: ENOSPC/),
    ]);
  });

  it.each([
    ['the whole bill', print],
    ['the service’s list', () => billOf('dist/service')],
    ['the dashboard’s list', () => billOf('dist/dashboard')],
  ])('is valid CycloneDX: %s', async (_, make) => {
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot5);
    expect(await validator.validate(JSON.stringify(make()))).toBeNull();
    // The validator has its own packages, and accepts everything without them.
    expect(await validator.validate('{"bomFormat":"CycloneDX"}')).not.toBeNull();
  });
});

describe('a bundled script', () => {
  let folder = '';
  const at = (name: string): string => join(folder, name);
  const start = (...flags: string[]) => node(...flags, ...WATCHED, at('program.mjs'));

  beforeEach(() => {
    rmSync(folder, { recursive: true, force: true });
    folder = mkdtempSync(join(tmpdir(), 'unseen-bundle-'));
    copyFileSync(join('scripts', 'bundle', 'load.mjs'), at('load.mjs'));
    writeFileSync(at('script.cjs'), 'console.log(`one ${require("./other.cjs").two}`);');
    writeFileSync(at('other.cjs'), 'exports.two = "two";');
    writeFileSync(
      at('program.mjs'),
      "import { load } from './load.mjs'; load(new URL('script.cjs', import.meta.url));",
    );
    expect(node(RECORD, at('script.cjs'))).toMatchObject({ status: 0, stdout: 'one two\n' });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('runs from the compiled code, and so do the scripts that it requires', () => {
    expect(start()).toEqual({ status: 0, stdout: 'one two\n', stderr: 'acceptedaccepted' });
  });

  it('runs from the compiled code, even if it sets flags of V8 before it requires the other', () => {
    const source = readFileSync(at('script.cjs'), 'utf8');
    writeFileSync(at('script.cjs'), `require('node:v8').setFlagsFromString('--no-opt'); ${source}`);
    for (const name of ['script.code', 'other.code']) rmSync(at(name));
    expect(node(RECORD, at('script.cjs'))).toMatchObject({ status: 0, stdout: 'one two\n' });
    expect(start()).toEqual({ status: 0, stdout: 'one two\n', stderr: 'acceptedaccepted' });
  });

  const change = (edit: (bytes: Buffer) => Buffer): void =>
    writeFileSync(at('script.code'), edit(readFileSync(at('script.code'))));

  it.each<[string, () => void]>([
    ['missing', () => rmSync(at('script.code'))],
    [
      'a folder',
      () => {
        rmSync(at('script.code'));
        mkdirSync(at('script.code'));
      },
    ],
    ['empty', () => change(() => Buffer.alloc(0))],
    ['cut off', () => change((bytes) => bytes.subarray(0, bytes.length / 2))],
    [
      'damaged',
      () =>
        change((bytes) => {
          bytes[bytes.length >> 1]! ^= 0xff;
          return bytes;
        }),
    ],
    ['of another script', () => renameSync(at('other.code'), at('script.code'))],
  ])('runs without code that is %s', (_, damage) => {
    damage();
    const { status, stdout } = start();
    expect([status, stdout]).toEqual([0, 'one two\n']);
  });

  it('is compiled anew after a change that keeps its length', () => {
    const source = readFileSync(at('script.cjs'), 'utf8');
    writeFileSync(at('script.cjs'), source.replace('one', 'six'));
    expect(start()).toMatchObject({ status: 0, stdout: 'six two\n' });
  });

  it('is compiled anew in another Node.js, even if it has the same V8', () => {
    rmSync(at('script.code'));
    const other = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } });`;
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(other)}`];
    expect(node(...flags, RECORD, at('script.cjs'))).toMatchObject({ status: 0 });
    expect(start(...flags)).toMatchObject({
      stdout: 'one two\n',
      stderr: expect.stringMatching(/^accepted/),
    });
    expect(start()).toEqual({ status: 0, stdout: 'one two\n', stderr: '' });
  });

  it('is compiled anew under other flags of V8', () => {
    expect(start('--no-opt')).toEqual({ status: 0, stdout: 'one two\n', stderr: 'rejectedrejected' });
  });
});

describe('scripts/bundle.mjs', () => {
  /** Runs code that uses the exports of one of the scripts. */
  const using = (script: string, code: string) =>
    node('--input-type=module', '--eval', `import * as script from './scripts/${script}'; ${code}`);

  it.each([
    '/home/me/unseen/src/main.ts',
    String.raw`C:\unseen\src\main.ts`,
    String.raw`C:\unseen\libs\bloom\src\index.ts`,
  ])('compiles %s with decorators', (path) => {
    expect(using('bundle.mjs', `console.log(script.SOURCE.test(${JSON.stringify(path)}))`)).toMatchObject({
      stdout: 'true\n',
    });
  });

  describe('compile', () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'unseen-bundle-'));
    });
    afterEach(() => rmSync(folder, { recursive: true, force: true }));

    it('ends a service that never listens', () => {
      writeFileSync(join(folder, 'main.cjs'), 'setInterval(() => {}, 1_000);');
      const code = `await script.compile(${JSON.stringify(folder)}, { patienceMs: 1 }).catch((error) => console.log(error.message));`;
      expect(using('bundle/compiled-code.mjs', code)).toEqual({
        status: 0,
        stdout: 'the service did not start: \n',
        stderr: '',
      });
    });

    it('runs no program with the flags of the build, under which V8 would make other code', () => {
      const tell = `require('node:fs').writeFileSync(__filename + '.flags', process.env.NODE_OPTIONS ?? 'none');`;
      const scripts = {
        main: `require('./tracing/open-telemetry.cjs');
          process.on('SIGTERM', () => process.exit());
          setInterval(() => {}, 1_000);
          console.log('is listening on http://127.0.0.1:1');`,
        'cli/command-line': `require('./offline-keys.cjs'); exports.runCommandLine = async () => {};`,
        'cli/offline-keys': '',
        'tracing/open-telemetry': '',
      };
      const paths = Object.entries(scripts).map(([name, code]) => {
        const path = join(folder, `${name}.cjs`);
        mkdirSync(join(path, '..'), { recursive: true });
        writeFileSync(path, `${tell} ${code}`);
        return path;
      });
      const code = `process.env.NODE_OPTIONS = '--no-warnings'; await script.compile(${JSON.stringify(folder)});`;
      expect(using('bundle/compiled-code.mjs', code)).toEqual({ status: 0, stdout: '', stderr: '' });
      expect(paths.map((path) => readFileSync(`${path}.flags`, 'utf8'))).toEqual(paths.map(() => 'none'));
    });
  });
});

function node(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
  return { status, stdout, stderr };
}
