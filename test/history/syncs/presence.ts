import type { Doubts } from '../queue-doubts.js';
import type { SyncedSet } from './synced-history.js';
import { mayBeOpen, type SyncLife } from './timeline.js';
import type { AddCall, ListCall, UrlCall, UrlCalls } from './url-calls.js';

/** Callers' and stores' clocks drift slightly during an age. */
const CLOCKS_MS = 100;
/** A set that ages expires items in steps that are a thirteenth of its age. */
const STEPS = 13;

/** The reasons why a call must find a URL seen or unseen. Overlapping calls may leave it open. */
export const BECAUSE = [
  'seen since a call added it',
  'seen after a commit, since it was visited in the sync',
  'seen after a commit, since it was listed',
  'seen after a commit, since it was queued at the opening',
  'seen after a commit, since it was queued at the opening and acknowledged later',
  'seen after a sync that was abandoned',
  'seen until its age ends',
  'seen until its age ends, through a commit',
  'unseen since it was forgotten',
  'unseen after a commit, since it was forgotten in the sync',
  'unseen after a commit, since nothing kept it',
  'unseen, since only an abandoned sync had listed it',
  'unseen, since its age has ended',
  'unseen, since its age had ended before it was listed again',
] as const;

export type Because = (typeof BECAUSE)[number];

type At = Pick<UrlCall, 'start' | 'end' | 'event'>;

/** The facts that calls on a URL in one set prove. */
export class Presence {
  private readonly ageMs: number;
  private readonly stepMs: number;

  constructor(
    { maxAgeSeconds = Infinity }: SyncedSet,
    private readonly syncs: readonly SyncLife[],
    private readonly doubts: Doubts,
    private readonly url: UrlCalls,
  ) {
    this.ageMs = maxAgeSeconds * 1_000;
    this.stepMs = Math.ceil(this.ageMs / STEPS);
  }

  /** The reasons why a call must find the URL seen. */
  seenBecause(at: At): Set<Because> {
    const because = new Set<Because>();
    for (const call of [...this.url.adds, ...this.url.lists]) {
      if (call.event === at.event || call.word === 'forgotten' || !this.isSureBefore(call, at)) continue;
      const kept = this.keptUntil(call, at);
      if (kept) kept.forEach((one) => because.add(one));
    }
    return because;
  }

  /** The reasons why a call must find it unseen. */
  unseenBecause(at: At): Set<Because> {
    const because = new Set<Because>();
    for (const forget of this.url.forgets) {
      if (forget.event === at.event || !this.isSureBefore(forget, at)) continue;
      if (this.mayBeAdded(forget.start, at)) continue;
      because.add('unseen since it was forgotten');
      const inSync = this.syncs.some(
        (sync) => sync.openedBy < forget.start && forget.end < sync.commitFrom && this.isCommitted(sync, at),
      );
      if (inSync) because.add('unseen after a commit, since it was forgotten in the sync');
    }
    for (const sync of this.syncs) {
      if (!this.isCommitted(sync, at) || sync.isDoubtful) continue;
      if (this.mayBeAdded(sync.openedFrom, at) || this.mayBeQueuedAt(sync)) continue;
      if (this.url.adds.length > 0) because.add('unseen after a commit, since nothing kept it');
    }
    if (this.wasOnlyListed(at)) because.add('unseen, since only an abandoned sync had listed it');
    if (this.url.adds.length + this.url.lists.length > 0 && this.isOverAge(at)) {
      because.add('unseen, since its age has ended');
      if (this.isListedAgain()) because.add('unseen, since its age had ended before it was listed again');
    }
    return because;
  }

  /** The reasons why the URL that a call added is still there. Undefined if it may be gone. */
  private keptUntil(call: AddCall | ListCall, at: At): Because[] | undefined {
    if (this.mayBeForgotten(call.start, at)) return undefined;
    const life = this.lifeOf(call);
    if (at.end >= call.start + life - CLOCKS_MS) return undefined;
    if (this.reliesOn(call, at)) return undefined;
    const because: Because[] = [];
    let commits = 0;
    for (const sync of this.syncs) {
      const mayCommit = sync.commitFrom <= at.end && sync.committedBy >= call.start;
      if (sync.abandonedBy < at.start && sync.openedBy < at.start && call.end < sync.abandonFrom) {
        if (!sync.isDoubtful) because.push('seen after a sync that was abandoned');
      }
      if (mayCommit && sync.isDoubtful) return undefined;
      if (!mayCommit || sync.abandonedBy < Infinity) continue;
      const keeps = this.keeps(sync, call, at);
      if (!keeps) return undefined;
      if (sync.committedBy < at.start) {
        commits++;
        because.push(...keeps);
      }
    }
    if (because.length === 0) because.push('seen since a call added it');
    const isLate = Number.isFinite(life) && at.start > call.end + life / 2;
    if (isLate) because.push(`seen until its age ends${commits > 0 ? ', through a commit' : ''}`);
    return because;
  }

  /** Minimum lifetime of a URL that a call added. A sync's list keeps known URLs' age. */
  private lifeOf(call: AddCall | ListCall): number {
    if ('sync' in call && call.word === 'kept' && Number.isFinite(this.ageMs)) return 0;
    const ttl = 'sync' in call ? undefined : call.ttlSeconds;
    return ttl === undefined ? this.ageMs : ttl * 1_000;
  }

  /** Whether a call's answer may be true only for a sync's layers. Abandoning the sync drops these layers. */
  private reliesOn(call: AddCall | ListCall, at: At): boolean {
    if (!('sync' in call) && call.word === 'new') return false;
    return this.url.lists.some((list) => {
      if (list.word === 'forgotten' || list.start > call.end) return false;
      const sync = this.syncs.find(({ id }) => id === list.sync);
      if (!sync || !mayBeOpen(sync, call.start, call.end)) return false;
      if (sync.isDoubtful) return true;
      if (sync.committedBy < Infinity) return false;
      return sync.abandonedBy < Infinity || sync.abandonFrom <= at.end;
    });
  }

  /** The reasons why a commit keeps the URL, with the life that a call gave it. Undefined unless it certainly does. */
  private keeps(
    { id, openedBy, openedFrom, commitFrom }: SyncLife,
    kept: UrlCall,
    at: At,
  ): Because[] | undefined {
    const { adds, lists, queued } = this.url;
    // A visit after the commit adds the URL again, with its own life.
    const keepsLife = (add: UrlCall) => add === kept || !Number.isFinite(this.ageMs) || add.end < commitFrom;
    const isKept = (call: UrlCall) => this.isSureBefore(call, at) && !this.mayBeForgotten(call.start, at);
    const because: Because[] = [];
    const visits = adds.filter((add) => add.start > openedBy && isKept(add) && !this.reliesOn(add, at));
    if (visits.some(keepsLife)) {
      because.push('seen after a commit, since it was visited in the sync');
    }
    if (lists.some((list) => list.sync === id && list.word !== 'forgotten' && isKept(list))) {
      because.push('seen after a commit, since it was listed');
    }
    const waits = queued.filter(
      ({ call, acks }) =>
        call.word === 'new' &&
        call.end < openedFrom &&
        isKept(call) &&
        acks.every(({ start }) => start > openedBy),
    );
    if (because.length === 0 && waits.length > 0) {
      because.push('seen after a commit, since it was queued at the opening');
      const acked = waits.some(({ acks }) =>
        acks.some(({ word, end }) => word === 'acked' && end < at.start),
      );
      if (acked)
        because.push('seen after a commit, since it was queued at the opening and acknowledged later');
    }
    return because.length > 0 ? because : undefined;
  }

  private isSureBefore(call: UrlCall, at: At): boolean {
    return call.word !== undefined && call.end < at.start && !this.doubts.mayBeLost(call, at.end);
  }

  /** Whether a call may have forgotten the URL by name between a time and a call. */
  private mayBeForgotten(from: number, at: At): boolean {
    return this.url.forgets.some(
      ({ event, word, start, end }) =>
        event !== at.event && word !== 'absent' && end >= from && start <= at.end,
    );
  }

  /** Whether a call may have added it between a time and a call. */
  private mayBeAdded(from: number, at: At): boolean {
    const mayHave = ({ event, start, end }: UrlCall) => event !== at.event && end >= from && start <= at.end;
    return (
      this.url.adds.some(mayHave) || this.url.lists.some((list) => list.word !== 'forgotten' && mayHave(list))
    );
  }

  private isCommitted({ committedBy }: SyncLife, at: At): boolean {
    return committedBy < at.start;
  }

  /** Whether it may be queued when a sync is opened. */
  private mayBeQueuedAt({ openedFrom, openedBy }: SyncLife): boolean {
    const isOver = (call: Pick<UrlCall, 'start' | 'end'>, since: number) =>
      call.start > since && call.end < openedFrom && !this.doubts.mayBeLost(call);
    return this.url.queued.some(({ call, acks }) => {
      if (call.start > openedBy) return false;
      if (acks.some((ack) => ack.word === 'acked' && isOver(ack, -Infinity))) return false;
      return !this.url.forgets.some((forget) => forget.word === 'forgotten' && isOver(forget, call.end));
    });
  }

  /** Whether only abandoned syncs ever listed it and no call added it. */
  private wasOnlyListed(at: At): boolean {
    const { adds, lists } = this.url;
    if (lists.length === 0 || adds.some(({ event, start }) => event !== at.event && start <= at.end))
      return false;
    const before = lists.filter(({ start }) => start <= at.end);
    return (
      before.length > 0 &&
      before.every((list) => {
        const sync = this.syncs.find(({ id }) => id === list.sync);
        return sync !== undefined && !sync.isDoubtful && sync.abandonedBy < at.start && list.end < Infinity;
      })
    );
  }

  /** Whether everything that may have extended its life was so long ago that it has expired. */
  private isOverAge(at: At): boolean {
    if (!Number.isFinite(this.ageMs)) return false;
    const isOver = (end: number, life: number) => end + life + this.stepMs + CLOCKS_MS < at.start;
    const isPast = ({ event, start }: UrlCall) => event === at.event || start > at.end;
    return (
      this.url.adds.every((add) => isPast(add) || isOver(add.end, this.lifeOf(add))) &&
      this.url.lists.every(
        (list) => isPast(list) || list.word === 'forgotten' || isOver(list.end, this.lifeOf(list)),
      ) &&
      // A commit keeps queued URLs even if they have expired.
      this.syncs.every(
        (sync) =>
          sync.openedFrom > at.end ||
          !this.mayBeQueuedAt(sync) ||
          isOver(Math.min(sync.committedBy, sync.abandonedBy), this.ageMs),
      )
    );
  }

  private isListedAgain(): boolean {
    const { lists } = this.url;
    return lists.some(
      (list) =>
        list.word === 'kept' &&
        lists.some((first) => first.word === 'new' && first.sync === list.sync && first.end < list.start),
    );
  }
}
