import { LineError } from './line-error.js';

const GZIP_MAGIC = [0x1f, 0x8b];
const SLICE = 2 ** 15;

/**
 * A file's text in parts, read on demand. Only the last part is empty. `onRead` gets the number of bytes read from the
 * file as stored, compressed or not.
 */
export async function* textsOf(
  file: Blob,
  name: string,
  onRead: (bytes: number) => void,
): AsyncGenerator<string> {
  const isPacked = await isGzip(file);
  const reader = bytesOf(file, isPacked, onRead).getReader();
  // The decoder drops a byte order mark.
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw unread(name, isPacked, error);
      });
      const text = decodedBy(decoder, value, name);
      if (text !== '') yield text;
      if (!done) continue;
      yield '';
      return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function isGzip(file: Blob): Promise<boolean> {
  const head = new Uint8Array(await file.slice(0, GZIP_MAGIC.length).arrayBuffer());
  return GZIP_MAGIC.every((byte, i) => head[i] === byte);
}

/** Reads each slice on demand, because a browser's own stream may read the whole file ahead. */
function bytesOf(
  file: Blob,
  isPacked: boolean,
  onRead: (bytes: number) => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = 0;
  const slices = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const slice = file.slice(at, at + SLICE);
        if (slice.size === 0) {
          controller.close();
          return;
        }
        const bytes = new Uint8Array(await slice.arrayBuffer());
        at += bytes.length;
        onRead(bytes.length);
        controller.enqueue(bytes);
      },
    },
    { highWaterMark: 0 },
  );
  return isPacked ? slices.pipeThrough(new DecompressionStream('gzip')) : slices;
}

function decodedBy(decoder: TextDecoder, bytes: Uint8Array<ArrayBuffer> | undefined, name: string): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (error) {
    throw new LineError(name, 0, 'it is not UTF-8 text', { cause: error });
  }
}

/** Files are opened one after another, so a file may be gone by the time it is opened. */
function unread(name: string, isPacked: boolean, cause: unknown): LineError {
  const why = isPacked
    ? 'it cannot be decompressed: it is damaged, or has several gzip parts, which browsers cannot read'
    : 'it cannot be read: it may have been changed or deleted';
  return new LineError(name, 0, why, { cause });
}
