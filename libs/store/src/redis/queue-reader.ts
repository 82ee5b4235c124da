import type { QueuedItem } from '../store.js';
import type { QueuePage } from '../transfer/export-parts.js';
import { readEntry } from './queue-entry.js';
import type { Script } from './scripts/script.js';
import { exportLogScript, exportRestScript } from './scripts/transfer.js';

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

type Kind = 'leases' | 'delayed' | 'dead';

/** Reads the queue of a segment, page by page. */
export class QueueReader {
  private place = '';
  private run: string | undefined;
  private wasOvertaken = false;

  constructor(private readonly read: (script: Script, args: (string | number)[]) => Promise<RawPage>) {}

  /** Whether something was taken out of the line before it was read, since this was asked last. */
  overtaken(): boolean {
    const was = this.wasOvertaken;
    this.wasOvertaken = false;
    return was;
  }

  /** What is in line, from where it was read to before. */
  async *line(): AsyncGenerator<QueuePage, void, undefined> {
    for (let more = true; more;) {
      const { next, run, removals, bytes } = await this.read(exportLogScript, [this.place, PAGE_ENTRIES]);
      yield { entries: readEntries(bytes), removals };
      const { place, flag } = /^(?<place>.*) (?<flag>\d)$/.exec(next)?.groups ?? {};
      if (place === undefined) throw new Error('a script answered no place in line');
      if (this.isAnotherRun(run)) continue;
      this.place = place;
      this.wasOvertaken ||= Number(flag) >= 2;
      more = Number(flag) % 2 === 1;
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
