import { Readable } from 'node:stream';
import { reasonOf, Unreachable } from '../ending.js';
import { shown } from './names.js';

const IDLE_MS = 60_000;

/** A web server's answer. */
export interface Fetched {
  readonly stream: Readable;
  /** Undefined if the server doesn't send it. */
  readonly size: number | undefined;
  /** The media type, if the server sends one. */
  readonly type: string | null;
}

/** Aborts a source that sends nothing for `idleMs` while its reader waits. */
export class Silence {
  private readonly aborting = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly idleMs: number) {}

  get signal(): AbortSignal {
    return this.aborting.signal;
  }

  /** Starts the time limit. Call this when the reader begins to wait for the source. */
  begin(): void {
    const error = new Error(`it sent nothing for ${this.idleMs / 1_000} s`);
    this.timer = setTimeout(() => this.aborting.abort(error), this.idleMs);
  }

  end(): void {
    clearTimeout(this.timer);
  }

  /** Passes chunks on. Time in which the reader is busy doesn't count. */
  async *watch<T>(chunks: AsyncIterable<T>): AsyncGenerator<T> {
    this.begin();
    try {
      for await (const chunk of chunks) {
        this.end();
        yield chunk;
        this.begin();
      }
    } finally {
      this.end();
    }
  }
}

/** Fetches an input list or sitemap. Gives up if the server is silent for a minute. Throws Unreachable. */
export async function openRemote(url: string, signal: AbortSignal, idleMs = IDLE_MS): Promise<Fetched> {
  const silence = new Silence(idleMs);
  silence.begin();
  try {
    const [address, headers] = withoutUser(url);
    const answer = await fetch(address, { headers, signal: AbortSignal.any([signal, silence.signal]) });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const stated = answer.headers.get('content-length');
    const type = answer.headers.get('content-type');
    const size = answer.headers.has('content-encoding') || stated === null ? undefined : Number(stated);
    if (answer.body === null) return { stream: Readable.from([]), size: 0, type };
    // The DOM and Node declare different types for web streams.
    const body = Readable.fromWeb(answer.body);
    return { stream: Readable.from(told(silence.watch(body), url), { objectMode: false }), size, type };
  } catch (error) {
    signal.throwIfAborted();
    throw failed(url, error);
  } finally {
    silence.end();
  }
}

async function* told(chunks: AsyncIterable<Buffer>, url: string): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (error) {
    throw failed(url, error);
  }
}

function failed(url: string, error: unknown): Unreachable {
  return new Unreachable(`cannot fetch ${shown(url)}: ${reasonOf(error)}`);
}

/** Moves a URL's user and password to a header, because fetch refuses URLs with them, and shows them in errors. */
function withoutUser(text: string): [URL, Record<string, string>] {
  if (!URL.canParse(text)) throw new Error('it is not a valid URL');
  const url = new URL(text);
  const { username, password } = url;
  if (username === '' && password === '') return [url, {}];
  [url.username, url.password] = ['', ''];
  const user = [username, password].map((part) => decoded(part)).join(':');
  return [url, { authorization: `Basic ${Buffer.from(user).toString('base64')}` }];
}

/**
 * A sitemap's URL from an index, with the index's user and password if both have the same origin. A URL with a user
 * keeps it.
 */
export function withUserOf(index: string, child: string): string {
  if (!URL.canParse(index) || !URL.canParse(child)) return child;
  const [{ origin, username, password }, url] = [new URL(index), new URL(child)];
  const hasOwn = url.username !== '' || url.password !== '';
  if (url.origin !== origin || hasOwn || (username === '' && password === '')) return child;
  [url.username, url.password] = [username, password];
  return url.href;
}

/** Decodes percent escapes. A text with a literal percent sign stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
