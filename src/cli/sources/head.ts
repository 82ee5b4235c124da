import { pipeline, Readable } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { show } from '../../errors/show.js';
import { Ending, reasonOf, UsageError } from '../ending.js';
import { cannotRead } from './local.js';
import { shown, xmlBy } from './names.js';
import type { Chunks } from './runs.js';

/** Decides by a source's first bytes. Returns `undefined` if it needs more bytes. */
type Look<T> = (head: Buffer) => T | undefined;

/** Reads until `look` can decide. `chunks` still yields all bytes, including the ones read here. */
async function peek<T>(
  chunks: Chunks,
  look: Look<T>,
  otherwise: T,
): Promise<{ kind: T; head: Buffer; chunks: Chunks }> {
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
  return { kind, head, chunks: resumed(head, iterator) };
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

/** A source's bytes. Decompresses them if they begin like gzip, whatever the source's name. */
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
    throw new UsageError(`cannot unpack ${shown(name)}: ${reasonOf(error)}`);
  }
}

const BYTE_ORDER_MARKS = [
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
] as const;

/** A text's bytes as UTF-8. Converts UTF-16 if the text has a byte order mark. */
export async function inUtf8(name: string, source: Chunks): Promise<Chunks> {
  const look: Look<string> = (head) =>
    BYTE_ORDER_MARKS.find(({ bytes }) => bytes.every((byte, i) => head[i] === byte))?.encoding ??
    (head.length < 2 ? undefined : 'utf-8');
  const { kind, chunks } = await peek(source, look, 'utf-8');
  return kind === 'utf-8' ? chunks : transcoded(name, kind, chunks);
}

async function* transcoded(name: string, encoding: string, chunks: Chunks): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const decoded = (chunk?: Buffer): Buffer => {
    try {
      return Buffer.from(chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode());
    } catch {
      throw cannotRead(
        name,
        `its byte order mark says ${encoding.toUpperCase()}, but it is not valid ${encoding.toUpperCase()}`,
      );
    }
  };
  for await (const chunk of chunks) yield decoded(chunk);
  yield decoded();
}

const SPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);
const XML = ['<?xml', '<!--', '<urlset', '<sitemapindex'];
const HTML = ['<!doctype html', '<html'];
/** A root element with a namespace prefix. */
const PREFIXED = /^<[\w.-]+:(?:urlset|sitemapindex)\b/;
const LONGEST_START = 128;
/** Maximum white space before the root of a sitemap. */
const MAX_SPACE = 1024;

/**
 * Decides by the first bytes whether a source is a sitemap (it begins like XML) or lines. Throws UsageError for an HTML
 * page. Also throws it if the source's name or `type` says XML but the source isn't XML: that is often an error page.
 */
export async function sitemapOrLines(
  name: string,
  type: string | null,
  source: Chunks,
): Promise<{ kind: 'sitemap' | 'lines'; chunks: Chunks }> {
  const { kind, head, chunks } = await peek(source, kindIn, 'lines');
  const start = head
    .toString()
    .replace(/^\uFEFF/, '')
    .trimStart();
  const otherwise = `it begins with ${show(start.slice(0, 40))}; use --format lines to read it as lines`;
  if (kind === 'html') throw cannotRead(name, `it is an HTML page: ${otherwise}`);
  const why = kind === 'lines' && start !== '' ? xmlBy(name, type) : undefined;
  if (why !== undefined) throw cannotRead(name, `${why}, but ${otherwise}`);
  return { kind, chunks };
}

function kindIn(head: Buffer): 'sitemap' | 'html' | 'lines' | undefined {
  let at = head.subarray(0, 3).equals(Buffer.from('\uFEFF')) ? 3 : 0;
  while (at < head.length && SPACE.has(head[at] as number)) at++;
  if (at > MAX_SPACE) return 'lines';
  if (at === head.length) return undefined;
  const text = head
    .subarray(at, at + LONGEST_START)
    .toString('latin1')
    .toLowerCase();
  if (XML.some((start) => text.startsWith(start)) || PREFIXED.test(text)) return 'sitemap';
  if (HTML.some((start) => text.startsWith(start))) return 'html';
  const isBeginning =
    [...XML, ...HTML].some((start) => start.startsWith(text)) || /^<[\w.-]+(?::\w*)?$/.test(text);
  return isBeginning && text.length < LONGEST_START ? undefined : 'lines';
}
