import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, startApp, type TestApp } from '../../test/support/app.js';
import { UnseenClient } from '#client';
import { compareSync } from './sync-comparison.js';
import { runSyncDemo } from './sync-demo.js';
import { SyncedSet } from './synced-set.js';
import { readUrlFile, type UrlFile } from './url-file.js';

/** 500 URLs each, of which 400 are in both. */
const OLD = join('test', 'data', 'sync-old.txt');
const NEW = join('test', 'data', 'sync-new.txt');
const SILENT = { write: () => true };
const NEVER = new AbortController().signal;

const read = (path: string): Promise<UrlFile> => readUrlFile(path, SILENT, NEVER);
/** The figure in a line of the table. */
const rowOf = (report: string, label: string): number | undefined => {
  const found = new RegExp(`^ *${label} +([\\d,]+) `, 'm').exec(report)?.[1];
  return found === undefined ? undefined : Number(found.replaceAll(',', ''));
};

describe('a sync’s input lists', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'unseen-lists-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const listOf = async (content: string): Promise<UrlFile> => {
    const path = join(folder, 'list');
    await writeFile(path, content);
    return read(path);
  };
  const urls = ['http://a.example', 'HTTP://A.example:80/', 'no URL', 'http://b.example/'];
  const expected = { given: 4, invalid: 1 };

  it.each([
    ['lines', urls.join('\n')],
    ['lines with CR', `\r\n${urls.join('\r\n')}\r\n`],
    ['a JSON array', JSON.stringify(urls)],
    [
      'a JSON object of names and URLs',
      JSON.stringify({ a: urls[0], b: urls[1], c: null, d: urls[2], e: urls[3] }),
    ],
  ])('may be %s', async (_, content) => {
    const list = await listOf(content);
    expect(list).toMatchObject(expected);
    expect([...list.urls.values()]).toEqual(['http://a.example', 'http://b.example/']);
  });

  it('are refused if they are invalid or empty', async () => {
    await expect(listOf('["http://a.example"')).rejects.toThrow(/begins like JSON, but is not valid JSON/);
    await expect(listOf('nonsense\n')).rejects.toThrow(/has no http or https URLs/);
    await expect(read(join(folder, 'none'))).rejects.toThrow(/cannot read the list/);
  });
});

describe('a sync between the shipped input lists', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('keeps and forgets the same URLs as an exact set, and leaves nothing behind', async () => {
    const [old, now] = [await read(OLD), await read(NEW)];
    const { report, lost } = await runSyncDemo(
      { old, now, errorRate: 1e-6 },
      new URL(app.url),
      SILENT,
      NEVER,
    );
    expect(lost).toBe(0);
    const figures = ['old list', 'new list', 'kept', 'new', 'forgotten', 'wrongly lost', 'wrongly new'];
    expect(figures.map((label) => rowOf(report, label))).toEqual([500, 500, 400, 100, 100, 0, 0]);
    expect(report.match(/^ +wrongly kept +0 /gm)).toHaveLength(2);
    expect((await call(app, 'GET', '/v1/visited-sets')).body).toEqual({ visitedSets: [] });
  });

  it('counts the errors of a filter with a high error rate, and loses nothing', async () => {
    const [old, now] = [await read(OLD), await read(NEW)];
    const client = new UnseenClient({ url: app.url });
    const set = await SyncedSet.create(client, { capacity: old.urls.size, errorRate: 0.2 }, SILENT, NEVER);
    const { oldSeen, listed, wronglyKept, wronglyLost } = await compareSync(old, now, set);
    expect(wronglyLost).toBe(0);
    // With an error rate of 0.2 and hundreds of URLs, having no errors is practically impossible.
    expect(oldSeen).toBeGreaterThan(0);
    expect(listed.wronglyKept + wronglyKept).toBeGreaterThan(0);
    expect(listed.kept + listed.fresh).toBe(500);
    await set.drop(NEVER);
  });
});
