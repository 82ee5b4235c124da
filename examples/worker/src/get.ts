/** A request's options. */
export interface GetOptions {
  readonly userAgent: string;
  readonly timeoutMs: number;
  readonly redirect: 'follow' | 'manual';
  readonly signal: AbortSignal;
}

/** Requests a page and calls `read` with the answer. `timeoutMs` covers all this. Cancels the rest of the download. */
export async function get<T>(
  url: URL,
  { userAgent, timeoutMs, redirect, signal }: GetOptions,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const ending = new AbortController();
  const leave = (): void => ending.abort(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  const late = new Error(`no complete answer within ${timeoutMs / 1_000} s`);
  const timer = setTimeout(() => ending.abort(late), timeoutMs);
  try {
    const headers = { 'user-agent': userAgent, accept: 'text/html,application/xhtml+xml,*/*;q=0.5' };
    return await read(await fetch(url, { headers, redirect, signal: ending.signal }));
  } catch (error) {
    if (ending.signal.aborted) throw ending.signal.reason;
    // fetch and a body's reader throw a TypeError. Errors from `read` itself pass through.
    throw error instanceof TypeError ? new Error(whyOf(error), { cause: error }) : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
    ending.abort();
  }
}

/** An answer's text, cut off after `maxBytes`. */
export async function textOf(
  { body, headers }: Response,
  maxBytes: number,
): Promise<{ readonly text: string; readonly cut: boolean }> {
  const decoder = decoderOf(headers.get('content-type') ?? '');
  let [text, left] = ['', maxBytes];
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return { text: text + decoder.decode(), cut: false };
    text += decoder.decode(value.subarray(0, left), { stream: true });
    left -= value.length;
    if (left < 0) return { text, cut: true };
  }
}

function decoderOf(contentType: string): TextDecoder {
  const [, charset = 'utf-8'] = /;\s*charset="?([^";\s]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

/** Why a request failed. `fetch` throws "fetch failed", and that error's cause gives the reason. */
function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
  return cause.message.includes(code) ? cause.message : `${code} ${cause.message}`.trim();
}
