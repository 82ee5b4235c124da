import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { show } from '../../errors/show.js';
import { Ending, reasonOf, UsageError } from '../ending.js';
import type { Chunks } from './runs.js';

/** What the first bytes of a source say. `undefined`: more of them are needed. */
type Look<T> = (head: Buffer) => T | undefined;

/** Reads as many bytes as `look` needs to say what they are, and hands out all bytes from the first on. */
async function peek<T>(chunks: Chunks, look: Look<T>, otherwise: T): Promise<{ kind: T; chunks: Chunks }> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  let kind: T | undefined;
  while (kind === undefined) {
    const next = await iterator.next();
    if (next.done === true) {
      kind = otherwise;
    } else {
      head = Buffer.concat([head, next.value]);
      kind = look(head);
    }
  }
  return { kind, chunks: resumed(head, iterator) };
}

async function* resumed(head: Buffer, iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    for (;;) {
      const next = await iterator.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}

const GZIP = [0x1f, 0x8b];

/** The bytes of a source; unpacked if the first ones are those of gzip, whatever its name is. */
export async function unpacked(name: string, source: Chunks): Promise<Chunks> {
  const isGzip: Look<boolean> = (head) =>
    head.length < GZIP.length && head[0] === GZIP[0] ? undefined : head[0] === GZIP[0] && head[1] === GZIP[1];
  const { kind, chunks } = await peek(source, isGzip, false);
  if (!kind) return chunks;
  const gunzip = createGunzip();
  pipeline(Readable.from(chunks, { objectMode: false }), gunzip, () => undefined);
  return unzipped(name, gunzip);
}

async function* unzipped(name: string, gunzip: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
  } catch (error) {
    if (error instanceof Ending) throw error;
    throw new UsageError(`cannot unpack ${show(name)}: ${reasonOf(error)}`);
  }
}

const SPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);
const STARTS = ['<?xml', '<!--', '<urlset', '<sitemapindex'];
const LONGEST_START = 128;
/** As much white space before a sitemap as anybody writes. */
const MAX_SPACE = 1024;

/** Whether a source is XML. Else it is lines. */
export function sitemapOrLines(source: Chunks): Promise<{ kind: 'sitemap' | 'lines'; chunks: Chunks }> {
  return peek(source, isXml, 'lines');
}

function isXml(head: Buffer): 'sitemap' | 'lines' | undefined {
  let at = head.subarray(0, 3).equals(Buffer.from('\uFEFF')) ? 3 : 0;
  while (at < head.length && SPACE.has(head[at] as number)) at++;
  if (at > MAX_SPACE) return 'lines';
  if (at === head.length) return undefined;
  const text = head.subarray(at, at + LONGEST_START).toString('latin1');
  if (STARTS.some((start) => text.startsWith(start))) return 'sitemap';
  return STARTS.some((start) => start.startsWith(text)) ? undefined : 'lines';
}
