import { randomUUID } from 'node:crypto';
import { KeyValueStore, Request, type RequestOptions } from '@crawlee/cheerio';

/** Requests to visit and queue. After a crash, it is unknown which of the two steps were executed. */
export interface Entry {
  /** The Idempotency-Key of the call that visits them. */
  readonly key: string;
  /** ms since 1970. */
  readonly writtenAt: number;
  readonly forefront: boolean;
  readonly requests: readonly Request[];
}

/** An entry as JSON. */
interface StoredEntry {
  readonly set: string;
  readonly writtenAt: number;
  readonly forefront: boolean;
  readonly requests: readonly RequestOptions[];
}

const PREFIX = 'unseen-';

/**
 * Stores requests before their URLs are visited. Unseen and the request queue are two stores. If the process is killed
 * between them, Unseen has visited URLs that no queue contains, and no run would fetch them. When the next process
 * opens the journal, it repeats such entries with the same keys and gets the same answers as the first time.
 */
export class Journal {
  constructor(
    private readonly store: KeyValueStore,
    private readonly set: string,
  ) {}

  /** Resolves when the entry is stored. */
  async write(requests: readonly Request[], forefront: boolean): Promise<Entry> {
    const entry: Entry = { key: randomUUID(), writtenAt: Date.now(), forefront, requests };
    const { set } = this;
    await this.store.setValue(PREFIX + entry.key, { set, writtenAt: entry.writtenAt, forefront, requests });
    return entry;
  }

  async remove({ key }: Entry): Promise<void> {
    await this.store.setValue(PREFIX + key, null);
  }

  /** Entries of this set that earlier processes left. */
  async left(): Promise<Entry[]> {
    const entries: Entry[] = [];
    for await (const name of this.store.keys({ prefix: PREFIX })) {
      const stored = await this.store.getValue(name);
      if (!isStoredEntry(stored)) throw new Error(`${name} in the key-value store is not a journal entry`);
      if (stored.set !== this.set) continue;
      const requests = stored.requests.map((options) => new Request(options));
      entries.push({ ...stored, key: name.slice(PREFIX.length), requests });
    }
    return entries;
  }
}

function isStoredEntry(value: unknown): value is StoredEntry {
  if (typeof value !== 'object' || value === null) return false;
  if (!('set' in value && 'writtenAt' in value && 'forefront' in value && 'requests' in value)) return false;
  const { set, writtenAt, forefront, requests } = value;
  return (
    typeof set === 'string' &&
    typeof writtenAt === 'number' &&
    typeof forefront === 'boolean' &&
    Array.isArray(requests) &&
    requests.every(hasUrl)
  );
}

function hasUrl(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'url' in value && typeof value.url === 'string';
}
