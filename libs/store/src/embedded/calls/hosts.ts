import { hostWords } from '#bloom';
import {
  MAX_LISTED_HOSTS,
  type Filter,
  type HostPage,
  type Hosts,
  type HostSettings,
  type HostView,
  type Operation,
} from '../../port/index.js';
import { emptyHost } from '../../empty-host.js';
import { assertHostSettings, assertKnowsHosts, noMoreHosts } from '../../refusals.js';
import { GENERATION_BYTES } from '../database/keys.js';
import type { Engine } from '../engine/engine.js';
import type { Session } from '../engine/session.js';
import { DROP_HOST, SET_HOST } from '../operations/verbs.js';
import { HostLanes, knowsHosts, type HostState } from '../queue/host-lanes.js';
import type { HostLane } from '../queue/host-lane.js';
import { countDue } from '../queue/overdue.js';
import { TodoQueue } from '../queue/todo-queue.js';
import { isCopying } from '../syncs/keep.js';
import type { QueueCopies } from '../syncs/queue-copies.js';
import type { Watches } from './watches.js';

const CURSOR = /^[0-9a-f]{16}$/;

/** See the port for each method's guarantees. */
export class EmbeddedHosts implements Hosts {
  constructor(
    private readonly engine: Engine,
    private readonly copies: QueueCopies,
    private readonly watches: Watches,
  ) {}

  async list(filter: Filter, limit: number, after = ''): Promise<HostPage> {
    assertKnowsHosts(filter);
    const most = Math.min(limit, MAX_LISTED_HOSTS);
    return this.engine.mutate((session) => {
      const { lanes, state } = lanesOf(session, filter);
      // The first key after the last lane's key.
      const id = CURSOR.test(after) ? Buffer.from(`${after}00`, 'hex') : Buffer.alloc(0);
      const looked = lanes.page(Buffer.concat([state.key, id]), most + 1);
      const page = looked.slice(0, most);
      countDue(session, state, lanes, session.now);
      const last = page.at(-1);
      const hosts = page.flatMap((lane) => lanes.view(lane) ?? []);
      if (looked.length <= most || !last) return { hosts };
      return { hosts, next: last.key.toString('hex', GENERATION_BYTES) };
    });
  }

  async get(filter: Filter, host: string): Promise<HostView | undefined> {
    assertKnowsHosts(filter);
    return this.engine.mutate((session) => {
      const { lanes, lane, state } = laneOf(session, filter, host);
      countDue(session, state, lanes, session.now);
      return lane.stored ? lanes.view(lane) : undefined;
    });
  }

  async set(filter: Filter, host: string, settings: HostSettings, operation: Operation): Promise<HostView> {
    assertKnowsHosts(filter);
    assertHostSettings(filter, host, settings);
    const view = await this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: SET_HOST, operation }, () => {
          const { maxHosts } = session.database.sizes;
          const { stored } = laneOf(session, filter, host).lane;
          if (!stored && scope.queue.lanes >= maxHosts) throw noMoreHosts(filter, maxHosts);
          // Leases that have ended delay the host by its previous settings.
          const queue = new TodoQueue(session, scope);
          queue.moveDue(session.now);
          queue.flush();
          const { lanes, lane, state } = laneOf(session, filter, host);
          lane.name ||= host;
          lanes.settle(lane, settings);
          lanes.flush();
          countDue(session, state, lanes, session.now);
          return { answer: lanes.view(lane) ?? emptyHost(filter, host) };
        });
      },
      { grows: true, deadline: operation.deadline },
    );
    this.watches.reschedule(filter);
    return view;
  }

  async drop(filter: Filter, host: string, operation: Operation): Promise<number> {
    assertKnowsHosts(filter);
    const { deadline } = operation;
    let drop = await this.dropEntries(filter, host, operation);
    while (drop.copying !== undefined) {
      await this.copies.done(filter, drop.copying, deadline);
      drop = await this.dropEntries(filter, host, operation);
    }
    for (let { more } = drop; more;) {
      more = await this.engine.mutate(
        (session) => {
          const { lanes, lane, state } = laneOf(session, filter, host);
          lanes.deleteDropped(lane);
          lanes.flush();
          session.keep(state);
          return lane.hasDroppedRows;
        },
        { deadline },
      );
    }
    return drop.entries;
  }

  /**
   * Drops the entries, and deletes the first rows of the waiting ones. `more`: true if rows are left to delete.
   * `copying`: the id of a sync that must keep the entries first. If present, nothing has changed.
   */
  private dropEntries(
    filter: Filter,
    host: string,
    operation: Operation,
  ): Promise<{ readonly entries: number; readonly more: boolean; readonly copying: string | undefined }> {
    return this.engine.mutate(
      (session) => {
        const { lanes, lane, state } = laneOf(session, filter, host);
        let copying: string | undefined;
        const entries = session.once({ scope: state, verb: DROP_HOST, operation }, () => {
          const { held } = lane;
          if (held > 0 && isCopying(state)) {
            copying = state.sync.opened.id;
            return { answer: 0, unrecorded: true };
          }
          if (held > 0) lanes.drop(lane);
          lanes.deleteDropped(lane);
          lanes.flush();
          if (lane.hasDropped) {
            state.queue.unsweptDrops++;
            session.sweeper.consider(state);
          }
          return { answer: held };
        });
        return { entries, more: lane.hasDroppedRows, copying };
      },
      { deadline: operation.deadline },
    );
  }
}

function lanesOf(session: Session, filter: Filter): { lanes: HostLanes; state: HostState } {
  const state = session.memory.current(filter);
  if (!knowsHosts(state)) throw new TypeError(`filter ${filter.name} was created without perHost`);
  return { lanes: new HostLanes(session, state), state };
}

function laneOf(
  session: Session,
  filter: Filter,
  host: string,
): { lanes: HostLanes; state: HostState; lane: HostLane } {
  const { lanes, state } = lanesOf(session, filter);
  const [first = 0, second = 0] = hostWords(host, filter.seed);
  return { lanes, state, lane: lanes.of(first, second) };
}
