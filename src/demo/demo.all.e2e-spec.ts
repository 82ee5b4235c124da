import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, startApp, type TestApp } from '../../test/support/app.js';
import { serviceProgram } from '../../test/support/service-program.js';
import { UnseenClient } from '#client';
import { compare } from './comparison.js';
import { readUrlList } from './url-list.js';
import { VisitedSet } from './visited-set.js';

const SAMPLE = join('test', 'data', 'debian-homepages-sample.txt');
const SILENT = { write: () => true };
const NEVER = new AbortController().signal;

describe('the demo against a running service', () => {
  let app: TestApp;
  let folder: string;
  beforeAll(async () => {
    app = await startApp();
    folder = await mkdtemp(join(tmpdir(), 'unseen-demo-spec-'));
  });
  afterAll(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const visitedSet = (url: string, capacity: number, signal = NEVER): Promise<VisitedSet> =>
    VisitedSet.create(new UnseenClient({ url }), { capacity, errorRate: 1e-6 }, SILENT, signal);

  it('gets the same results as an exact set on the sample', async () => {
    const list = await readUrlList(SAMPLE, SILENT, NEVER);
    const visited = await visitedSet(app.url, list.distinct);
    const { discovered, forgotten, checked } = await compare(list, visited);
    expect(discovered).toMatchObject({ given: 3_000, fresh: list.distinct, falseNegatives: 0 });
    expect(discovered.given).toBe(discovered.invalid + discovered.fresh + discovered.seen);
    expect(discovered.falsePositives.size).toBe(0);
    expect(forgotten).toMatchObject({ stale: Math.floor(list.distinct / 5), forgotten: forgotten.stale });
    expect(checked).toMatchObject({ falsePositives: 0, falseNegatives: 0, neverStored: 0 });
    expect(checked.kept).toBe(list.distinct - forgotten.stale);
    await visited.drop(NEVER);
    expect((await call(app, 'GET', '/v1/visited-sets')).body).toEqual({ visitedSets: [] });
  });

  it('reads while it writes, so that answers larger than all buffers do not block it', async () => {
    const path = join(folder, 'long.txt');
    const lines = Array.from({ length: 100_000 }, (_, i) => `no URL, number ${i}`);
    await writeFile(path, ['http://a.example/', ...lines].join('\n'));
    const list = await readUrlList(path, SILENT, NEVER);
    const visited = await visitedSet(app.url, list.distinct);
    const { discovered } = await compare(list, visited);
    expect(discovered).toMatchObject({ given: 100_001, invalid: 100_000, fresh: 1 });
  });

  it('counts a URL that is too long as invalid, as the service does', async () => {
    const path = join(folder, 'too-long.txt');
    await writeFile(path, ['http://a.example/', `http://a.example/${'a'.repeat(9_000)}`].join('\n'));
    const list = await readUrlList(path, SILENT, NEVER);
    const { discovered } = await compare(list, await visitedSet(app.url, list.distinct));
    expect(discovered).toMatchObject({ given: 2, invalid: 1, fresh: 1 });
  });

  it('reports errors from the service', async () => {
    const path = join(folder, 'too-many.txt');
    const lines = Array.from({ length: 2_500 }, (_, i) => `http://a.example/${i}`);
    await writeFile(path, lines.join('\n'));
    const list = await readUrlList(path, SILENT, NEVER);
    // The set fills up in the third block of 1,000 lines.
    const visited = await visitedSet(app.url, 1_100);
    await expect(compare(list, visited)).rejects.toThrow(/FILTER_FULL/);
    await visited.drop(NEVER);
    await expect(compare(list, visited)).rejects.toThrow(/VISITED_SET_NOT_FOUND/);
  });

  it('stops immediately when it is interrupted', async () => {
    const list = await readUrlList(SAMPLE, SILENT, NEVER);
    const interruption = new AbortController();
    const visited = await visitedSet(app.url, list.distinct, interruption.signal);
    const running = compare(list, visited);
    interruption.abort(new Error('interrupted'));
    await expect(running).rejects.toThrow('interrupted');
  });

  it('distinguishes an unreachable service from a server that is not Unseen', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
    const answers: [RequestListener, string][] = [
      [(_, response) => void response.end('hello'), 'a body that is not JSON'],
      [
        (_, response) => void response.writeHead(404).end('{}'),
        'returned 404, but not from an Unseen service',
      ],
      [(request) => void request.socket.destroy(), `${url} could not be reached`],
    ];
    for (const [answer, says] of answers) {
      listener.removeAllListeners('request').on('request', answer);
      await expect(visitedSet(url, 1)).rejects.toThrow(says);
    }
    listener.close();
    await once(listener, 'close');
    await expect(visitedSet(url, 1)).rejects.toThrow('ECONNREFUSED');
  });
});

describe('the demo with its own service', () => {
  const run = (root: string, args: readonly string[]) =>
    spawn(process.execPath, [join(root, 'demo', 'main.js'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  /** Runs the output of `npm run build`, as `npm run demo` does. Its false positives vary. */
  const demo = (...args: string[]) => run(join('dist', 'service'), args);
  /** Runs a service with the fixed seed of the tests. */
  const seededDemo = async (...args: string[]) => run(await serviceProgram(), args);
  const exitCode = (child: ChildProcess): Promise<number | null> =>
    new Promise((resolve) => child.once('exit', resolve));
  const leftovers = async (): Promise<string[]> =>
    (await readdir(tmpdir())).filter((name) => /^unseen-demo-.{6}$/.test(name));

  it('prints its table and leaves nothing behind', async () => {
    const before = await leftovers();
    const child = await seededDemo(SAMPLE);
    const [output, progress, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      exitCode(child),
    ]);
    expect(progress).toMatch(/^read +3,000 lines in .*\ndiscover +3,000 lines in .*\nforget .*\ncheck .*\n$/);
    expect(output).toMatch(/^given +3,000 /m);
    expect(output).toMatch(/^ {2}false negatives +0 {2}unseen, of [\d,]+ kept$/m);
    expect(code).toBe(0);
    expect(await leftovers()).toEqual(before);
  });

  it('syncs one input list to another, reports no losses, and leaves nothing behind', async () => {
    const before = await leftovers();
    const lists = ['sync-old.txt', 'sync-new.txt'].map((name) => join('test', 'data', name));
    const child = await seededDemo('--sync', ...lists);
    const [output, progress, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      exitCode(child),
    ]);
    expect(progress).toMatch(/^ingest +500 lines in .*\nlist +500 lines in /m);
    expect(output).toContain(`${lists[0]} synced to ${lists[1]}`);
    expect(output).toMatch(/^ {2}wrongly lost +0 {2}on the new list, but unseen; must be 0$/m);
    expect(code).toBe(0);
    expect(await leftovers()).toEqual(before);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('cleans up after %s', async (signal) => {
    const before = await leftovers();
    const child = demo();
    // By now the demo has read the input list, and the service is starting or in use.
    const [first] = (await once(child.stderr, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^read +3,000 lines in /);
    child.kill(signal);
    const [words, code] = await Promise.all([text(child.stderr), exitCode(child)]);
    expect(words).toContain('demo: interrupted');
    expect(code).toBe(130);
    expect(await leftovers()).toEqual(before);
  });

  it('prints an error in one line', async () => {
    const child = demo('no-such-file.txt');
    const [words, code] = await Promise.all([text(child.stderr), exitCode(child)]);
    expect(words).toMatch(/^demo: cannot read the list: ENOENT[^\n]*\n$/);
    expect(code).toBe(1);
  });
});
