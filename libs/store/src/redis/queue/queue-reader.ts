import type { QueuedItem } from '../../port/index.js';
import type { QueuePage } from '../../transfer/export-parts.js';
import { readEntry, type Born, type KeptEntry } from './queue-entry.js';
import { STORED_PRIORITIES } from '../scripts/queue-state.js';
import type { Script } from '../scripts/script.js';
import { exportLogScript, exportRestScript } from '../scripts/transfer.js';

/** Approximate number of entries that one script reads, and of places of each kind that it scans. */
const PAGE_ENTRIES = 250;
const PAGES = { leases: 16, chunks: 16, delayed: PAGE_ENTRIES, dead: PAGE_ENTRIES } as const;

const TIME_BYTES = 6;

/** A script's reply with a page of a queue or of hidden items. */
export interface RawPage {
  /** Position of the next page. */
  readonly next: string;
  /** The server's run id. */
  readonly run: string;
  readonly removals: number;
  readonly bytes: Buffer;
}

/** Runs a script that reads a page of one segment's queue. */
export type ReadPage = (script: Script, args: (string | number | Buffer)[]) => Promise<RawPage>;

/** The pages of a scan. A cursor is valid only in the server run that gave it. In another run, the scan starts over. */
export async function* scan(
  read: (cursor: string) => Promise<RawPage>,
  isAnotherRun: (run: string) => boolean,
): AsyncGenerator<RawPage, void, undefined> {
  for (let cursor = '0', done = false; !done;) {
    const page = await read(cursor);
    yield page;
    const another = isAnotherRun(page.run);
    cursor = another ? '0' : page.next;
    done = !another && cursor === '0';
  }
}

/** Places of entries that aren't waiting, in the order in which entries may move through them. */
export const KINDS = ['leases', 'delayed', 'dead'] as const;
type Kind = (typeof KINDS)[number] | 'chunks';

/** The next position, the chunk that ends the log, and whether the queue is ordered. Format of exportLogScript. */
const PLACE = /^(?<place>(?<chunk>\d+) \d+ \d+) (?<flag>\d) (?<end>\d+)(?<ordered>\+?)$/;

/** Reads a segment's queue, page by page. */
export class QueueReader {
  /** The last position read in each log. */
  private logPlaces: string[] = [];
  private run: string | undefined;
  protected wasOvertaken = false;
  private wasRestarted = false;

  constructor(protected readonly read: ReadPage) {}

  /** True if, since the last call of this method, entries were taken before they were read. */
  overtaken(): boolean {
    const was = this.wasOvertaken;
    this.wasOvertaken = false;
    return was;
  }

  /** Id of the server run that was last read from. Empty before the first read. */
  get serverRun(): string {
    return this.run ?? '';
  }

  /** True if the server's run has changed since the last call of this method. */
  protected restarted(): boolean {
    const was = this.wasRestarted;
    this.wasRestarted = false;
    return was;
  }

  /**
   * All entries that exist at the start. May miss entries that move, but not those that move from waiting to leases, or
   * from leases to delayed entries or dead letters. Stops at the chunk that was last at the start, however fast callers
   * add others. With `hosts`, it scans the chunks of all lanes.
   */
  async *once(hosts = false): AsyncGenerator<QueuePage, void, undefined> {
    for (let another = true; another; another = this.restarted()) {
      this.logPlaces = [];
      yield* hosts ? this.rest('chunks', true) : this.waiting(true);
      for (const kind of KINDS) yield* this.rest(kind, hosts);
    }
  }

  /**
   * The waiting entries of each log, from the last position read. With `bounded`, only those in chunks that existed
   * when the log's first page was read.
   */
  async *waiting(bounded = false): AsyncGenerator<QueuePage, void, undefined> {
    let end: number | undefined;
    for (let log = 0; log < STORED_PRIORITIES.length;) {
      const args = [this.logPlaces[log] ?? '', PAGE_ENTRIES, log];
      const { next, run, removals, bytes } = await this.read(exportLogScript, args);
      yield { entries: readEntries(bytes), removals };
      const page = PLACE.exec(next)?.groups;
      if (!page) throw new Error('a script returned no position in the queue');
      if (this.isAnotherRun(run)) {
        end = undefined;
        log = 0;
        continue;
      }
      this.logPlaces[log] = page.place as string;
      const flag = Number(page.flag);
      this.wasOvertaken ||= flag >= 2;
      end ??= Number(page.end);
      const more = flag % 2 === 1 && !(bounded && Number(page.chunk) >= end);
      if (more) continue;
      end = undefined;
      log += page.ordered === '' ? STORED_PRIORITIES.length : 1;
    }
  }

  /**
   * Entries that aren't waiting or, with `chunks`, the waiting entries in the lanes of hosts. A scan returns every
   * entry that exists from its first step to its last.
   */
  async *rest(kind: Kind, hosts = false): AsyncGenerator<QueuePage, void, undefined> {
    for await (const { removals, bytes } of this.scan(kind, hosts))
      yield {
        entries:
          kind === 'dead' ? readDeadLetters(bytes, hosts) : readEntries(bytes, hosts, kind === 'delayed'),
        removals,
      };
  }

  /** The scheduled entries, like `rest`. */
  async *scheduled(hosts: boolean): AsyncGenerator<Born[], void, undefined> {
    for await (const { bytes } of this.scan('delayed', hosts))
      yield keptIn(bytes, hosts, true).filter(({ scheduledAt }) => scheduledAt !== undefined);
  }

  private scan(kind: Kind, hosts: boolean): AsyncGenerator<RawPage, void, undefined> {
    const script = hosts ? exportRestScript.hosts : exportRestScript.plain;
    return scan(
      (cursor) => this.read(script, [kind, cursor, PAGES[kind]]),
      (run) => this.isAnotherRun(run),
    );
  }

  /** True if this server run differs from the last one. The waiting entries must then be read again from the start. */
  protected isAnotherRun(run: string): boolean {
    const another = this.run !== undefined && run !== this.run;
    this.run = run;
    if (another) {
      this.wasOvertaken = true;
      this.wasRestarted = true;
      this.startOver();
    }
    return another;
  }

  /** Forgets all positions. */
  protected startOver(): void {
    this.logPlaces = [];
  }
}

/**
 * Reads consecutive entries. `hosts`: each entry is followed by its host's name. `timed`: each entry is preceded by its
 * scheduled time, or 0.
 */
export const readEntries = (bytes: Buffer, hosts = false, timed = false): QueuedItem[] =>
  keptIn(bytes, hosts, timed).map(({ size: _size, birth: _birth, ...entry }) => entry);

function keptIn(bytes: Buffer, hosts: boolean, timed: boolean): KeptEntry[] {
  const entries: KeptEntry[] = [];
  for (let at = 0; at < bytes.length;) {
    const scheduledAt = timed ? bytes.readUIntBE(at, TIME_BYTES) : 0;
    const kept = readEntry(bytes, at + (timed ? TIME_BYTES : 0), hosts);
    const entry = scheduledAt > 0 ? { ...kept, scheduledAt } : kept;
    at += kept.size + (timed ? TIME_BYTES : 0);
    if (hosts) {
      const end = at + 2 + bytes.readUInt16BE(at);
      entries.push({ ...entry, host: bytes.toString('utf8', at + 2, end) });
      at = end;
    } else entries.push(entry);
  }
  return entries;
}

function readDeadLetters(bytes: Buffer, hosts: boolean): QueuedItem[] {
  return [...deadLetters(bytes, hosts, hosts)].map(({ entry, reason, host }) => ({
    ...entry,
    reason,
    ...(host !== undefined && { host }),
  }));
}

interface KeptLetter {
  readonly number: number;
  readonly entry: QueuedItem;
  readonly reason: string;
  /** Its host's name, if it was read. */
  readonly host?: string;
}

/**
 * Reads consecutive dead letters in their stored format, from a queue with or without `perHost`. `named`: each is
 * followed by its host's name.
 */
export function* deadLetters(
  bytes: Buffer,
  hosts = false,
  named = false,
): Generator<KeptLetter, void, undefined> {
  for (let at = 0; at < bytes.length;) {
    const number = bytes.readUIntBE(at, 6);
    const entryAt = at + 8 + bytes.readUInt16BE(at + 6);
    const reason = bytes.toString('utf8', at + 8, entryAt);
    const { size, birth: _birth, ...entry } = readEntry(bytes, entryAt, hosts);
    at = entryAt + size;
    const nameAt = at + 2;
    if (named) at = nameAt + bytes.readUInt16BE(at);
    yield { number, entry, reason, ...(named && { host: bytes.toString('utf8', nameAt, at) }) };
  }
}
