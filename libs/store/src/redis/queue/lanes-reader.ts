import type { Filter } from '../../port/index.js';
import type { QueuePage } from '../../transfer/export-parts.js';
import { LANES_PER_SCRIPT } from '../scripts/host-lanes.js';
import { exportLanesScript, exportWaitingScript, listLanesScript } from '../scripts/transfer-hosts.js';
import { type Lane, type Lanes, queuedHostOf, readLanes } from './lane-pages.js';
import { KINDS, QueueReader, readEntries, type ReadPage } from './queue-reader.js';

/** Approximate number of entries and of lanes that one script reads. */
const PAGE_ENTRIES = 250;
const PAGE_LANES = 200;

const ID_BYTES = 8;
/** A log's name is its lane's id and its number. */
const LOG_BYTES = ID_BYTES + 1;
const NUMBER_BYTES = 6;

interface LanePage extends Lanes {
  readonly next: string;
  readonly removals: number;
  /** Another run of the server has replied. */
  readonly another: boolean;
}

/** The position of a lane's next entry: its chunk, the byte in it, and the number of rewrites. */
type Place = readonly [chunk: number, at: number, rewrites: number];

const START: Place = [0, 0, 0];

/** Reads a segment's per-host queue, page by page. Remembers a position for each log that has had waiting entries. */
export class LanesReader extends QueueReader {
  /** By log name. */
  private readonly places = new Map<string, Place>();

  /** With `limits` (hostLimits), lanes count due entries as the next lease will. */
  constructor(
    read: ReadPage,
    private readonly limits: readonly string[] = [],
  ) {
    super(read);
  }

  protected override startOver(): void {
    super.startOver();
    this.places.clear();
  }

  /** The waiting entries of all lanes. Continues each lane from the last position that was read. */
  override async *waiting(): AsyncGenerator<QueuePage, void, undefined> {
    for (let cursor = '0', done = false; !done;) {
      const page = await this.lanes('lanes', cursor);
      const another = page.another || (yield* this.waitingIn(page.lanes.flatMap(logsOf)));
      cursor = another ? '0' : page.next;
      done = !another && cursor === '0';
    }
  }

  /**
   * Like `once`, for one lane. Reads the waiting entries of only this lane. Reads leases, delayed entries and dead
   * letters of all lanes, but skips each kind that this lane doesn't have.
   */
  async *onceIn(id: Buffer): AsyncGenerator<QueuePage, void, undefined> {
    const read = async (): Promise<Lane | undefined> => (await this.lanes('lane', id)).lanes[0];
    for (let another = true; another; another = this.restarted()) {
      this.places.clear();
      const lane = await read();
      if (lane) yield* this.waitingIn(logsOf(lane), endsOf(lane));
      for (const kind of KINDS) {
        // Read the counts again, because they must include entries that were leased in the meantime. The queue owes the
        // copy any that have moved on.
        const now = await read();
        if (now && entriesIn(now, kind) > 0) yield* this.rest(kind, true);
      }
    }
  }

  /**
   * The waiting entries of logs. Reads each log from the last position, to its end or to the chunk with the number in
   * `ends`. Returns true if another run of the server has replied.
   */
  private async *waitingIn(
    logs: readonly string[],
    ends?: ReadonlyMap<string, number>,
  ): AsyncGenerator<QueuePage, boolean, undefined> {
    for (let at = 0; at < logs.length; at += LANES_PER_SCRIPT) {
      for (let left = logs.slice(at, at + LANES_PER_SCRIPT); left.length > 0;) {
        const { next, run, removals, bytes } = await this.read(exportWaitingScript, [
          this.packed(left),
          PAGE_ENTRIES,
        ]);
        yield { entries: readEntries(bytes, true), removals };
        if (this.isAnotherRun(run)) return true;
        left = this.take(left, next, ends);
      }
    }
    return false;
  }

  /**
   * All lanes that exist at the start: first those with turns, in the order of their turns, then all others. A lane
   * whose turn changes in the meantime may appear twice. No lane is missed. Turns are never reused, so a lane that has
   * left its turn has a later one, or none. If it has none, it comes with the others.
   */
  async *hosts(filter: Pick<Filter, 'maxAgeSeconds' | 'base'>): AsyncGenerator<QueuePage, void, undefined> {
    let kind: 'turns' | 'lanes' = 'turns';
    let cursor = '0';
    let lastTurn: number | undefined;
    for (;;) {
      const page: LanePage = await this.lanes(kind, cursor);
      if (page.another) {
        [kind, cursor, lastTurn] = ['turns', '0', undefined];
        continue;
      }
      const last = (lastTurn ??= page.turn);
      const found = page.lanes.filter(({ turn }) => kind === 'turns' || turn === 0 || turn > last);
      yield {
        entries: [],
        hosts: found.map((lane) => queuedHostOf(lane, page, filter)),
        removals: page.removals,
      };
      cursor = page.next;
      if (cursor !== '0') continue;
      if (kind === 'lanes') return;
      kind = 'lanes';
    }
  }

  /** A page of lanes: see exportLanesScript. */
  async lanes(
    kind: 'turns' | 'lanes' | 'lane',
    cursor: string | Buffer,
    count = PAGE_LANES,
  ): Promise<LanePage> {
    const { limits } = this;
    const script = limits.length > 0 ? listLanesScript : exportLanesScript;
    const { next, run, removals, bytes } = await this.read(script, [kind, cursor, count, ...limits]);
    return { ...readLanes(bytes), next, removals, another: this.isAnotherRun(run) };
  }

  /** The logs and their positions, for the script. */
  private packed(logs: readonly string[]): Buffer {
    const packed = Buffer.alloc(logs.length * (LOG_BYTES + 3 * NUMBER_BYTES));
    let at = 0;
    for (const log of logs) {
      at += packed.write(log, at, 'latin1');
      for (const number of this.places.get(log) ?? START) at = packed.writeUIntBE(number, at, NUMBER_BYTES);
    }
    return packed;
  }

  /** Notes the new positions. Returns the logs with more entries before their ends. */
  private take(logs: readonly string[], answer: string, ends?: ReadonlyMap<string, number>): string[] {
    const [flag = 0, rewrites = 0, ...places] = answer.split(' ').map(Number);
    if (places.length !== 3 * logs.length) throw new Error('a script returned no positions in lanes');
    if (flag >= 2) this.wasOvertaken = true;
    return logs.filter((log, n) => {
      const [chunk = 0, at = 0, more = 0] = places.slice(3 * n, 3 * n + 3);
      this.places.set(log, [chunk, at, rewrites]);
      return more > 0 && chunk < (ends?.get(log) ?? Infinity);
    });
  }
}

/** The names of a lane's logs that have had entries, and the number of each one's next new chunk. */
function endsOf({ id, next, highNext, lowNext }: Lane): Map<string, number> {
  const name = id.toString('latin1');
  const ends = [next, highNext, lowNext].map((end, log) => [name + String.fromCharCode(log), end] as const);
  return new Map(ends.filter(([, end]) => end > 0));
}

const logsOf = (lane: Lane): string[] => [...endsOf(lane).keys()];

/**
 * How many of a lane's entries are in places of one kind. Leaves out scheduled entries, because a sync doesn't keep
 * them.
 */
function entriesIn({ leased, delayed, dead }: Lane, kind: (typeof KINDS)[number]): number {
  return { leases: leased, delayed, dead }[kind];
}
