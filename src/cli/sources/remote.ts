import { Readable } from 'node:stream';
import { show } from '../../errors/show.js';
import { reasonOf, Unreachable } from '../ending.js';

const IDLE_MS = 60_000;

/** What a web server sends. */
export interface Fetched {
  readonly stream: Readable;
  /** Undefined if the server does not say. */
  readonly size: number | undefined;
}

/** Whether a source is named by a URL. */
export function isRemote(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

/** Fetches a list or sitemap. Gives up on a server that is silent for a minute. Throws Unreachable. */
export async function openRemote(url: string, signal: AbortSignal): Promise<Fetched> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error(`silent for ${IDLE_MS / 1_000} s`)), IDLE_MS);
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, silence.signal]) });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const stated = answer.headers.get('content-length');
    const size = answer.headers.has('content-encoding') || stated === null ? undefined : Number(stated);
    if (answer.body === null) return { stream: Readable.from([]), size: 0 };
    // The types of the web's streams are declared twice.
    const body = Readable.fromWeb(answer.body);
    return { stream: Readable.from(watched(body, timer, url), { objectMode: false }), size };
  } catch (error) {
    clearTimeout(timer);
    signal.throwIfAborted();
    throw failed(url, error);
  }
}

async function* watched(body: Readable, timer: NodeJS.Timeout, url: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) {
      timer.refresh();
      yield chunk as Buffer;
    }
  } catch (error) {
    throw failed(url, error);
  } finally {
    clearTimeout(timer);
  }
}

function failed(url: string, error: unknown): Unreachable {
  return new Unreachable(`cannot fetch ${show(url)}: ${reasonOf(error)}`);
}
