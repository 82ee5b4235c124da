import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bytesBelow, expectDocumentedSize } from '../support/documented-sizes.js';
import { INSTALLED, LOCKED } from '../support/lock-file.js';
import { startProcess } from '../support/service-process.js';
import { statusOf } from '../support/status-of.js';

const run = promisify(execFile);
const DOCKERFILE = readFileSync('Dockerfile', 'utf8');
const BUILD_MS = 600_000;

interface Stage {
  readonly name: string;
  /** The instructions with their arguments, in order. */
  readonly steps: readonly {
    readonly verb: string;
    readonly words: readonly string[];
    readonly text: string;
  }[];
}

/** The stages of the Dockerfile. */
const STAGES: readonly Stage[] = DOCKERFILE.replace(/^#.*\n/gm, '')
  .replace(/\\\n/g, ' ')
  .split(/^(?=FROM )/m)
  .map((stage) => ({
    name: /^FROM \S+ AS (\w+)/.exec(stage)?.[1] ?? '',
    steps: [...stage.matchAll(/^([A-Z]+) (.+)$/gm)].map(([, verb = '', text = '']) => ({
      ...{ verb, text, words: text.trim().split(/\s+/) },
    })),
  }));

/** Whether .dockerignore leaves out a path of the checkout. */
const IGNORED = readFileSync('.dockerignore', 'utf8')
  .trim()
  .split('\n')
  .map((line) => {
    const name = line
      .replace('**/', '')
      .replace('.', String.raw`\.`)
      .replace('*', '[^/]*');
    return new RegExp(`^${line.startsWith('**/') ? '(?:.*/)?' : ''}${name}$`);
  });
const isInContext = (path: string): boolean => !IGNORED.some((pattern) => pattern.test(path));

/**
 * No container engine runs here. So this follows the Dockerfile in folders, with the Node.js and the packages of the
 * tests: a file that it forgets to copy is missing here too.
 */
describe('the Dockerfile, followed in a folder', () => {
  let root: string;
  const at = (stage: string, path = ''): string => join(root, stage || 'image', path);

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'unseen-image-'));
    for (const { name, steps } of STAGES) {
      mkdirSync(at(name));
      for (const { verb, words, text } of steps) {
        if (verb === 'COPY') copy(name, words);
        if (verb === 'RUN') await RUNS[text]?.(at(name));
      }
    }
  }, BUILD_MS);
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  function copy(stage: string, words: readonly string[]): void {
    const [, from] = /^--from=(\w+)$/.exec(words[0] ?? '') ?? [];
    const sources = words.slice(from === undefined ? 0 : 1, -1);
    const target = words.at(-1) ?? '';
    for (const source of sources) {
      const path = from === undefined ? source : at(from, source.replace(/^\/app\//, ''));
      if (from === undefined && !isInContext(source)) throw new Error(`.dockerignore leaves out ${source}`);
      const place = target.endsWith('/') ? join(target, basename(source)) : target;
      mkdirSync(dirname(at(stage, place)), { recursive: true });
      const filter = (entry: string): boolean => from !== undefined || isInContext(entry);
      cpSync(path, at(stage, place), { recursive: true, filter });
    }
  }

  /** What the Dockerfile's commands do to the build's folder. */
  const RUNS: Readonly<Record<string, (folder: string) => void | Promise<void>>> = {
    'npm ci --ignore-scripts': (folder) =>
      symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules')),
    'npm run build && npm prune --omit=dev --ignore-scripts': async (folder) => {
      await run('npm', ['run', 'build'], { cwd: folder, timeout: BUILD_MS, maxBuffer: 2 ** 26 });
      rmSync(join(folder, 'node_modules'));
      for (const path of Object.keys(INSTALLED)) cpSync(path, join(folder, path), { recursive: true });
    },
    // The test's service uses a folder of its own.
    'mkdir /data && chown node:node /data': () => undefined,
  };

  it('has no command that this test does not know', () => {
    const commands = STAGES.flatMap(({ steps }) => steps.filter(({ verb }) => verb === 'RUN'));
    expect(commands.map(({ text }) => text)).toEqual(Object.keys(RUNS));
  });

  it('starts, serves its pages, and passes its own health check', async () => {
    const steps = STAGES.at(-1)?.steps ?? [];
    const textOf = (verb: string): string => steps.find((step) => step.verb === verb)?.text ?? '';
    const [, main = ''] = JSON.parse(textOf('CMD')) as string[];
    const service = await startProcess({ NODE_ENV: 'production' }, { main: at('', main) });
    try {
      const url = await service.url();
      for (const path of [
        '/readyz',
        '/docs/swagger-ui.css',
        '/openapi.json',
        '/dashboard',
        '/dashboard/LICENSES.txt',
      ])
        expect([path, await statusOf(url + path)]).toEqual([path, 200]);
      const [, check = '[]'] = /CMD (\[.*\])/.exec(textOf('HEALTHCHECK')) ?? [];
      const [, ...args] = JSON.parse(check) as string[];
      await run(process.execPath, args, { env: { PORT: new URL(url).port } });
      service.child.kill('SIGTERM');
      expect([await service.exit(), service.stderr()]).toEqual([0, '']);
    } finally {
      await service.clean();
    }
  });

  it('runs the commands that operators run in it, and the demo has its list', () => {
    const env = { PATH: process.env.PATH, DATA_DIR: join(root, 'data') };
    const inImage = (...words: string[]): string =>
      execFileSync('npm', ['run', '-s', ...words], {
        cwd: at(''),
        env,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    expect(inImage('keys', '--', 'create', '--name', 'ops', '--scope', 'admin')).toMatch(/^unseen_/);
    expect(inImage('keys', '--', 'list')).toContain('ops');
    expect(inImage('demo', '--', '--help')).toContain('npm run demo');
    expect(existsSync(at('', 'test/data/debian-homepages-sample.txt'))).toBe(true);
  });

  it('contains licences, compiled code, and no TypeScript, sources, or packages for development', () => {
    for (const path of [
      'LICENSE',
      'dist/service/LICENSES.txt',
      'dist/dashboard/LICENSES.txt',
      'dist/service/main.code',
    ])
      expect([path, existsSync(at('', path))]).toEqual([path, true]);
    for (const path of ['node_modules/typescript', 'src', 'libs', 'dist/test', 'dist/src'])
      expect([path, existsSync(at('', path))]).toEqual([path, false]);
    const others = Object.entries(LOCKED).filter(([path, { dev }]) => dev && existsSync(at('', path)));
    expect(others).toEqual([]);
  });

  it('has the documented sizes', () => {
    // The size of compiled code depends on the version of Node.js.
    const isOwn = (path: string): boolean => basename(path) !== 'node_modules' && !path.endsWith('.code');
    expectDocumentedSize('Unseen in the image', 'disk', bytesBelow(at(''), isOwn));
  });
});
