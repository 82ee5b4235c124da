import { hostWords, positionsOf } from '#bloom';
import { ExportFileError, type FilterSpec, type Part, type QueuedItem } from '#store';
import { compileProfile, InvalidUrl, normaliseProfile, type UrlCanonicaliser } from '#url-key';
import { isLonger } from '../batches/entries.js';
import { show } from '../errors/show.js';
import { decodeQueued } from '../visited-sets/queued-url.js';

type Queued = Pick<FilterSpec, 'seed' | 'geometry'>;

/**
 * The parts of a visited set's export. Checks that the queue has only entries that `discover` could have queued: URLs
 * within the limit that the set's profile accepts, with their key's hash and their host's lane. A later `forget` finds
 * them by this hash. Throws ExportFileError. Parts are short (see ExportFileReader), so checking one doesn't delay
 * other requests.
 */
export async function* checkedQueue(
  parts: AsyncIterable<Part>,
  spec: FilterSpec,
  maxItemBytes: number,
): AsyncGenerator<Part, void, undefined> {
  const canonicaliser = compileProfile(normaliseProfile(spec.urlProfile));
  for await (const part of parts) {
    if (part.type === 'queue') {
      const keys = part.entries.map((entry) => keyOf(entry, canonicaliser, maxItemBytes));
      assertHashes(part.entries, keys, spec);
    }
    yield part;
  }
}

function keyOf({ payload }: QueuedItem, canonicaliser: UrlCanonicaliser, maxItemBytes: number): string {
  const { url } = decodeQueued(
    Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString(),
  );
  if (isLonger(url, maxItemBytes)) {
    const fault = `must have at most ${maxItemBytes} bytes in UTF-8, not ${Buffer.byteLength(url)}`;
    throw new ExportFileError(`a queue entry ${fault}; it is ${show(url)}`);
  }
  const key = canonicaliser.key(url);
  if (!(key instanceof InvalidUrl)) return key;
  throw new ExportFileError(`a queue entry is not a valid URL for this set (${key.reason}): ${show(url)}`);
}

function assertHashes(entries: readonly QueuedItem[], keys: readonly string[], { seed, geometry }: Queued) {
  const { hash, host } = positionsOf(keys, seed, geometry);
  for (const [n, entry] of entries.entries()) {
    const own = entry.host === undefined ? undefined : hostWords(entry.host, seed);
    if (own && (own[0] !== host?.[2 * n] || own[1] !== host?.[2 * n + 1])) {
      const url = show(Buffer.from(entry.payload).toString());
      throw new ExportFileError(`a queue entry has a different host than its URL, ${url}`);
    }
    const words = new DataView(entry.hash.buffer, entry.hash.byteOffset, entry.hash.byteLength);
    for (let word = 0; word < 4; word++) {
      if (words.getUint32(word * 4) === hash[n * 4 + word]) continue;
      const url = show(Buffer.from(entry.payload).toString());
      throw new ExportFileError(`a queue entry has a hash that does not match its URL, ${url}`);
    }
  }
}
