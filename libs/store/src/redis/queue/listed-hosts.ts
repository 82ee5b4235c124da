import type { Filter, HostPage, HostView } from '../../port/index.js';
import { hostViewOf } from './lane-pages.js';
import type { LanesReader } from './lanes-reader.js';

/** Maximum number of scripts that one page of hosts takes. */
const STEPS = 16;
/** How many lanes one script reads, so that none blocks Redis for long. */
const LANES_READ = 200;
/** Number of characters of a run id that distinguish server runs. */
const RUN_DIGITS = 8;

/**
 * A position in a list: a segment, a scan cursor over its lanes, and the server run that gave the cursor. `given`:
 * lanes of the next scan step that earlier pages have listed, by their ids in hexadecimal.
 */
interface Position {
  readonly segment: number;
  readonly run: string;
  readonly cursor: string;
  readonly given: readonly string[];
}

const POSITION = /^(?<segment>\d{1,9})-(?<run>[0-9a-f]*)-(?<cursor>\d{1,15})(?<given>(-[0-9a-f]{16})*)$/;

/**
 * Lists a queue's hosts, segment by segment, in scan steps. A step that returns too many lanes is repeated with a
 * smaller count. If even the smallest step has too many, it is split between pages, and the cursor names the lanes
 * already listed.
 */
export class ListedHosts {
  private readonly hosts: HostView[] = [];
  /** The ids of these hosts' lanes. */
  private readonly known = new Set<string>();

  constructor(
    private readonly filter: Pick<Filter, 'spread' | 'perHost' | 'maxAgeSeconds' | 'base'>,
    private readonly readerOf: (segment: number) => Pick<LanesReader, 'lanes' | 'serverRun'>,
  ) {}

  async page(limit: number, after: string | undefined): Promise<HostPage> {
    let position = positionIn(after);
    let count = LANES_READ;
    for (let step = 0; step < STEPS && this.hosts.length < limit; step++) {
      const { segment, cursor, given }: Position = position;
      if (segment >= this.filter.spread) break;
      const reader = this.readerOf(segment);
      const left = limit - this.hosts.length;
      count = Math.min(count, left);
      const page = await reader.lanes('lanes', cursor, count);
      const run = reader.serverRun.slice(0, RUN_DIGITS);
      if (cursor !== '0' && run !== position.run) {
        // A cursor is valid in only one run of the server, so the scan starts over.
        position = startOf(segment);
        continue;
      }
      const found = page.lanes.flatMap((lane) => {
        const id = lane.id.toString('hex');
        const isKnown = this.known.has(id) || given.includes(id);
        const view = isKnown ? undefined : hostViewOf(lane, page, this.filter);
        return view ? [{ id, view }] : [];
      });
      if (found.length > left && count > 1) {
        if (this.hosts.length > 0) break;
        count = Math.floor(count / 2);
        continue;
      }
      const fitting = found.slice(0, left);
      for (const { id, view } of fitting) {
        this.known.add(id);
        this.hosts.push(view);
      }
      if (fitting.length < found.length)
        position = { segment, run, cursor, given: [...given, ...fitting.map(({ id }) => id)] };
      else
        position = page.next === '0' ? startOf(segment + 1) : { segment, run, cursor: page.next, given: [] };
    }
    const { hosts } = this;
    return position.segment >= this.filter.spread ? { hosts } : { hosts, next: textOf(position) };
  }
}

const startOf = (segment: number): Position => ({ segment, run: '', cursor: '0', given: [] });

function positionIn(text = ''): Position {
  const { segment, run = '', cursor = '0', given = '' } = POSITION.exec(text)?.groups ?? {};
  if (segment === undefined) return startOf(0);
  return { segment: Number(segment), run, cursor, given: given.split('-').slice(1) };
}

const textOf = ({ segment, run, cursor, given }: Position): string =>
  [segment, run, cursor, ...given].join('-');
