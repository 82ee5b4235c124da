import type { QueuedItem } from '../../port/index.js';
import type { QueuePage } from '../../transfer/export-parts.js';
import { readEntry } from './queue-entry.js';
import type { Script } from '../scripts/script.js';
import { exportLogScript, exportRestScript } from '../scripts/transfer.js';

/** About how many a script reads. */
const PAGE_ENTRIES = 250;
const PAGE_LEASES = 16;

/** What a script that reads some of a queue answers. */
export interface RawPage {
  /** Where the next page begins. */
  readonly next: string;
  /** Id of the server's run. */
  readonly run: string;
  readonly removals: number;
  readonly bytes: Buffer;
}

/** Where entries are that are not in line, in the order in which they may move. */
export const KINDS = ['leases', 'delayed', 'dead'] as const;
type Kind = (typeof KINDS)[number];

/** The place, and what is behind it, as exportLogScript answers it. */
const PLACE = /^(?<place>(?<list>\d+ \d) \d+) (?<flag>\d) (?<read>\d+) (?<behind>\d+)$/;

/** Reads the queue of a segment, page by page. */
export class QueueReader {
  private place = '';
  private run: string | undefined;
  private wasOvertaken = false;
  private wasRestarted = false;

  constructor(private readonly read: (script: Script, args: (string | number)[]) => Promise<RawPage>) {}

  /** Whether something was taken out of the line before it was read, since this was asked last. */
  overtaken(): boolean {
    const was = this.wasOvertaken;
    this.wasOvertaken = false;
    return was;
  }

  /** Id of the run of the server that was read from, once something was. */
  get serverRun(): string {
    return this.run ?? '';
  }

  /** Whether the server's run has become another one, since this was asked last. */
  private restarted(): boolean {
    const was = this.wasRestarted;
    this.wasRestarted = false;
    return was;
  }

  /**
   * All entries that are there when this begins, unless they move other than from the line to leases, and from there to the
   * delayed and the dead. It reads no more of the line than was there at first, however fast others come into line.
   */
  async *once(): AsyncGenerator<QueuePage, void, undefined> {
    for (let another = true; another; another = this.restarted()) {
      this.place = '';
      yield* this.line(true);
      for (const kind of KINDS) yield* this.rest(kind);
    }
  }

  /** The entries in line, from where it was read to before; with `bounded`, only those there at the first page. */
  async *line(bounded = false): AsyncGenerator<QueuePage, void, undefined> {
    let list: string | undefined;
    let left = Infinity;
    for (let more = true; more;) {
      const { next, run, removals, bytes } = await this.read(exportLogScript, [this.place, PAGE_ENTRIES]);
      yield { entries: readEntries(bytes), removals };
      const page = PLACE.exec(next)?.groups;
      if (!page) throw new Error('a script answered no place in line');
      if (this.isAnotherRun(run)) {
        list = undefined;
        continue;
      }
      this.place = page.place as string;
      const flag = Number(page.flag);
      this.wasOvertaken ||= flag >= 2;
      // A sweep moves entries from one list to the other, also such as were read before.
      left = page.list === list ? left - Number(page.read) : Number(page.behind);
      list = page.list;
      more = flag % 2 === 1 && !(bounded && left <= 0);
    }
  }

  /** What is not in line. A scan answers everything that is there from its first step to its last. */
  async *rest(kind: Kind): AsyncGenerator<QueuePage, void, undefined> {
    const count = kind === 'leases' ? PAGE_LEASES : PAGE_ENTRIES;
    for (let cursor = '0', done = false; !done;) {
      const { next, run, removals, bytes } = await this.read(exportRestScript, [kind, cursor, count]);
      yield { entries: kind === 'dead' ? readDeadLetters(bytes) : readEntries(bytes), removals };
      const another = this.isAnotherRun(run);
      cursor = another ? '0' : next;
      done = !another && cursor === '0';
    }
  }

  /** Whether this is not the run of the server that was read so far: then the line has to be read anew. */
  private isAnotherRun(run: string): boolean {
    const another = this.run !== undefined && run !== this.run;
    this.run = run;
    if (another) {
      this.wasOvertaken = true;
      this.wasRestarted = true;
      this.place = '';
    }
    return another;
  }
}

function readEntries(bytes: Buffer): QueuedItem[] {
  const entries: QueuedItem[] = [];
  for (let at = 0; at < bytes.length;) {
    const { size, ...entry } = readEntry(bytes, at);
    entries.push(entry);
    at += size;
  }
  return entries;
}

function readDeadLetters(bytes: Buffer): QueuedItem[] {
  return [...deadLetters(bytes)].map(({ entry, reason }) => ({ ...entry, reason }));
}

interface KeptLetter {
  readonly number: number;
  readonly entry: QueuedItem;
  readonly reason: string;
}

/** Dead letters as they are kept, one after the other. */
export function* deadLetters(bytes: Buffer): Generator<KeptLetter, void, undefined> {
  for (let at = 0; at < bytes.length;) {
    const number = bytes.readUIntBE(at, 6);
    const entryAt = at + 8 + bytes.readUInt16BE(at + 6);
    const reason = bytes.toString('utf8', at + 8, entryAt);
    const { size, ...entry } = readEntry(bytes, entryAt);
    yield { number, entry, reason };
    at = entryAt + size;
  }
}
