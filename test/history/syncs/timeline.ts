import type { Doubts } from '../queue-doubts.js';
import { isVerb, type SyncedEvent, type SyncState } from './synced-history.js';

/** One answer that tells the state of a sync. */
interface Sight {
  readonly start: number;
  readonly end: number;
  readonly state: SyncState;
  readonly reason?: string;
}

/** A set's sync, with the periods in which it was opened and ended, as far as the answers tell. */
export interface SyncLife {
  readonly id: string;
  /** The request to open it was sent at this time or later. */
  readonly openedFrom: number;
  /** It was open by this time, when the first answer named it. */
  readonly openedBy: number;
  /** When the first commit was sent, or Infinity. */
  readonly commitFrom: number;
  /** When the first answer reported it as committed, or Infinity. */
  readonly committedBy: number;
  /** When a client first asked to abandon it, or Infinity. */
  readonly abandonFrom: number;
  readonly abandonedBy: number;
  readonly reason?: string;
  /** States in the order of the answers. */
  readonly sights: readonly Sight[];
  /** Whether a failover may have lost a part of it. */
  readonly isDoubtful: boolean;
}

/** All of a set's syncs that any answer names. A sync that was opened and never named can't be committed. */
export function syncsOf(events: readonly SyncedEvent[], doubts: Doubts): SyncLife[] {
  const firstOpening = Math.min(...events.filter((event) => isVerb(event, 'open')).map(({ start }) => start));
  return [...sightsOf(events)].map(([id, sights]) => {
    sights.sort((a, b) => a.end - b.end);
    const opening = events.filter((event) => isVerb(event, 'open') && openedIn(event, id));
    const asked = (verb: 'commit' | 'abandon') =>
      Math.min(
        ...events.map((event) =>
          isVerb(event, verb) && event.operation.sync === id ? event.start : Infinity,
        ),
      );
    const toldBy = (state: SyncState) => sights.find((sight) => sight.state === state)?.end ?? Infinity;
    const reason = sights.find((sight) => sight.reason !== undefined)?.reason;
    const openedFrom = opening.length > 0 ? Math.min(...opening.map(({ start }) => start)) : firstOpening;
    const [committedBy, abandonedBy] = [toldBy('committed'), toldBy('abandoned')];
    return {
      ...{ id, sights, openedFrom, committedBy, abandonedBy },
      openedBy: Math.min(...sights.map(({ end }) => end)),
      commitFrom: asked('commit'),
      abandonFrom: asked('abandon'),
      ...(reason !== undefined && { reason }),
      isDoubtful: doubts.mayBeLost({ start: openedFrom, end: Math.min(committedBy, abandonedBy) }),
    };
  });
}

/** Whether a sync may be open at some time between `start` and `end`. */
export function mayBeOpen({ openedFrom, ...sync }: SyncLife, start: number, end: number): boolean {
  return openedFrom <= end && Math.min(sync.committedBy, sync.abandonedBy) >= start;
}

export function openedIn({ attempts }: SyncedEvent, id: string): boolean {
  return attempts.some(
    ({ answers }) =>
      answers !== undefined && 'sync' in answers && answers.sync.code === undefined && answers.sync.id === id,
  );
}

function sightsOf(events: readonly SyncedEvent[]): Map<string, Sight[]> {
  const sights = new Map<string, Sight[]>();
  for (const { attempts } of events) {
    for (const { start, end, answers } of attempts) {
      if (answers === undefined || !('sync' in answers)) continue;
      const { id, state, reason } = answers.sync;
      if (id === undefined || state === undefined) continue;
      const sight = { start, end, state, ...(reason !== undefined && { reason }) };
      const known = sights.get(id);
      if (known) known.push(sight);
      else sights.set(id, [sight]);
    }
  }
  return sights;
}
