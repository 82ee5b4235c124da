import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Flag, readUrlList, linesOf, type UrlList } from './url-list.js';

const SILENT = { write: () => true };
const NEVER = new AbortController().signal;
const everyLine = (): boolean => true;

describe('a list of URLs', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'unseen-list-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const listOf = async (text: string): Promise<UrlList> => {
    const path = join(folder, 'list.txt');
    await writeFile(path, text);
    return readUrlList(path, SILENT, NEVER);
  };
  const sent = async (list: UrlList, wanted: (flags: number) => boolean = everyLine): Promise<string> => {
    let text = '';
    for await (const line of linesOf(list, wanted)) text += `${line}\n`;
    return text;
  };

  it('flags invalid URLs, first occurrences, and repeated URLs by key, not by spelling', async () => {
    const list = await listOf('http://a.example\nHTTP://A.example:80/\nnonsense\nhttp://b.example/\n');
    expect(list.distinct).toBe(2);
    expect([...list.lineFlags]).toEqual([
      Flag.Url | Flag.First,
      Flag.Url,
      Flag.Invalid,
      Flag.Url | Flag.First,
    ]);
  });

  it('treats every fifth distinct URL as stale, including its repetitions', async () => {
    const lines = Array.from({ length: 12 }, (_, i) => `http://a.example/${i}`);
    const list = await listOf([...lines, lines[4], lines[5], lines[9]].join('\n'));
    const stale = [...list.lineFlags].flatMap((flags, i) => ((flags & Flag.Stale) === 0 ? [] : [i]));
    expect(stale).toEqual([4, 9, 12, 14]);
  });

  it('is split as in the service: at LF or CRLF, without empty lines, with or without a final line feed', async () => {
    const list = await listOf('http://a.example/1\r\n\r\n\nhttp://a.example/2\nhttp://a.example/3');
    expect(await sent(list)).toBe('http://a.example/1\nhttp://a.example/2\nhttp://a.example/3\n');
  });

  it('sends the wanted lines, even across chunks of the file', async () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `http://ä.example/${i}`);
    const list = await listOf(lines.join('\n'));
    const stale = lines.filter((_, i) => i % 5 === 4);
    expect(await sent(list, (flags) => (flags & Flag.Stale) !== 0)).toBe(`${stale.join('\n')}\n`);
  });

  it('reports faults in a file', async () => {
    await expect(readUrlList(join(folder, 'none'), SILENT, NEVER)).rejects.toThrow(
      'cannot read the list: ENOENT',
    );
    await expect(readUrlList(folder, SILENT, NEVER)).rejects.toThrow('cannot read the list: EISDIR');
    await expect(listOf('\nno URL\n')).rejects.toThrow('has no lines with http or https URLs');
  });

  it('detects a file that grows between two reads', async () => {
    const list = await listOf('http://a.example/1\n');
    await writeFile(list.path, 'http://a.example/1\nhttp://a.example/2\n');
    await expect(sent(list)).rejects.toThrow('grew while');
  });

  it('stops reading when it is interrupted', async () => {
    await writeFile(join(folder, 'list.txt'), 'http://a.example/1\n');
    const gone = AbortSignal.abort(new Error('interrupted'));
    await expect(readUrlList(join(folder, 'list.txt'), SILENT, gone)).rejects.toThrow('interrupted');
  });
});
