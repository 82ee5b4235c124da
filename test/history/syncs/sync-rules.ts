import type { Doubts } from '../queue-doubts.js';
import {
  errorOf,
  isVerb,
  wordsOf,
  type SyncedAnswers,
  type SyncedAttempt,
  type SyncedEvent,
} from './synced-history.js';
import { openedIn, type SyncLife } from './timeline.js';

/** The rules for syncs and their calls that don't depend on the URLs. */
export const SYNC_RULES = [
  'a sync ends only by a commit, by a call that abandons it, or for a true reason',
  'a sync that has ended does not change',
  'a sync is readable until the next one is opened',
  'a sync opens unless another one is in progress',
  'a repeat of open answers the same',
  'a repeat of open answers the same after the next sync was opened',
  'a repeat of commit answers the same',
  'a repeat of commit answers the same after the next sync was opened',
  'a repeat of abandon answers the same',
  'a repeat of a list in JSON answers the same',
  'a repeat of a list in JSON answers the same after its sync',
  'a repeat of a streamed list answers the same',
  'a repeat of a streamed list answers the same after its sync',
  'a repeat of another call answers the same',
] as const;

export type SyncRule = (typeof SYNC_RULES)[number];

/** Reports whether a rule is kept, if the answers decide it. */
export type Finding = (rule: SyncRule, holds: boolean, what: string, calls: readonly SyncedAttempt[]) => void;

/** Why a sync ended that a caller abandoned. */
const ABANDONED = 'a caller abandoned it';
/** Why a sync ended whose opening a killed service left undone, and no caller repeated. */
const NOT_OPENED = 'the service stopped while opening it';

export function judgeSyncs(
  events: readonly SyncedEvent[],
  syncs: readonly SyncLife[],
  doubts: Doubts,
  find: Finding,
): void {
  for (const sync of syncs) if (!sync.isDoubtful) judgeEnd(sync, events, find);
  for (const event of events) {
    if (!doubts.mayBeLost(event) && !doubts.mayBeAnew(event)) judgeRepeats(event, syncs, find);
    for (const attempt of event.attempts) judgeRefusal(attempt, event, events, syncs, find);
  }
}

function judgeEnd(sync: SyncLife, events: readonly SyncedEvent[], find: Finding): void {
  const { id, sights, committedBy, abandonedBy, commitFrom, abandonFrom, reason } = sync;
  const calls = events
    .filter((event) => isVerb(event, 'commit', 'abandon', 'look') && event.operation.sync === id)
    .flatMap(({ attempts }) => attempts);
  if (committedBy < Infinity || abandonedBy < Infinity) {
    const committed = committedBy < Infinity && commitFrom < committedBy;
    const abandoned = abandonFrom < abandonedBy && (reason === undefined || reason === ABANDONED);
    const isOpened = events.some((event) => isVerb(event, 'open') && openedIn(event, id));
    const holds = committedBy < Infinity ? committed : abandoned || (reason === NOT_OPENED && !isOpened);
    const how = committedBy < Infinity ? 'is committed' : `is abandoned because ${reason ?? 'unknown'}`;
    find(
      'a sync ends only by a commit, by a call that abandons it, or for a true reason',
      holds,
      `sync ${id} ${how}`,
      calls,
    );
  }
  const over = sights.filter(({ state }) => state === 'committed' || state === 'abandoned');
  for (const { state, end } of over.slice(0, 1)) {
    const later = sights.filter(({ start }) => start > end);
    const other = later.find((sight) => sight.state !== state);
    if (later.length > 0) {
      find(
        'a sync that has ended does not change',
        !other,
        `sync ${id} was ${state}, then ${other?.state}`,
        calls,
      );
    }
  }
}

/** Judges an error that names the current sync, or says that none exists. */
function judgeRefusal(
  attempt: SyncedAttempt,
  event: SyncedEvent,
  events: readonly SyncedEvent[],
  syncs: readonly SyncLife[],
  find: Finding,
): void {
  const { answers, start, end } = attempt;
  if (answers === undefined || !('sync' in answers)) return;
  const { code, id } = answers.sync;
  if (code === undefined && isVerb(event, 'look'))
    find('a sync is readable until the next one is opened', true, '', []);
  if (code === undefined && isVerb(event, 'open'))
    find('a sync opens unless another one is in progress', true, '', []);
  if (code === 'SYNC_NOT_FOUND' && isVerb(event, 'list', 'commit', 'abandon', 'look')) {
    const sync = syncs.find((one) => one.id === event.operation.sync);
    if (!sync || sync.isDoubtful || sync.openedBy > start) return;
    const others = events.filter(
      (one) => isVerb(one, 'open') && one.start <= end && one.end > sync.openedFrom,
    );
    const own = others.filter(({ answers: told }) => told && 'sync' in told && told.sync.id === sync.id);
    find(
      'a sync is readable until the next one is opened',
      others.length > own.length,
      `sync ${sync.id} was not found, but it is the last one`,
      event.attempts,
    );
  }
  if (code === 'SYNC_EXISTS') {
    const sync = syncs.find((one) => one.id === id);
    if (!sync || sync.isDoubtful) return;
    find(
      'a sync opens unless another one is in progress',
      Math.min(sync.committedBy, sync.abandonedBy) >= start,
      `a sync was not opened since there is ${id}, which had ended`,
      event.attempts,
    );
  }
}

/** Attempts sent after an answer must have the same answer, unless the store is unavailable. */
function judgeRepeats(event: SyncedEvent, syncs: readonly SyncLife[], find: Finding): void {
  const { operation, attempts, answers } = event;
  if (
    answers === undefined ||
    operation.verb === 'lease' ||
    operation.verb === 'check' ||
    operation.verb === 'look'
  )
    return;
  const first = textOf(answers);
  for (const repeat of attempts) {
    if (repeat.answers === undefined || repeat.start < event.end) continue;
    const text = textOf(repeat.answers);
    const isLate = isAfterItsSync(event, repeat, syncs);
    find(
      ruleOf(event, isLate),
      text === first,
      `a repeat of ${operation.verb} (operation ${operation.id}) was answered ${text}, at first ${first}`,
      attempts,
    );
  }
}

/** A commit that returned while in progress is finished later. */
function textOf(answers: SyncedAnswers): string {
  const words = wordsOf({ answers });
  if (words) return words.join();
  const error = errorOf(answers);
  return 'sync' in answers && error === undefined ? `sync ${answers.sync.id}` : String(error);
}

/** Whether a repeat was sent after its sync had ended (lists), or after the next one was opened. */
function isAfterItsSync(event: SyncedEvent, { start }: SyncedAttempt, syncs: readonly SyncLife[]): boolean {
  const { answers, operation } = event;
  const own = isVerb(event, 'list', 'commit', 'abandon')
    ? event.operation.sync
    : answers && 'sync' in answers && answers.sync.id;
  const sync = syncs.find(({ id }) => id === own);
  if (!sync) return false;
  const over = Math.min(sync.committedBy, sync.abandonedBy);
  if (operation.verb === 'list') return over < start;
  return syncs.some((next) => next.id !== sync.id && next.openedBy > over && next.openedBy < start);
}

function ruleOf(event: SyncedEvent, isLate: boolean): SyncRule {
  if (isVerb(event, 'list')) {
    const kind = event.operation.stream ? 'streamed list' : 'list in JSON';
    return `a repeat of a ${kind} answers the same${isLate ? ' after its sync' : ''}`;
  }
  if (isVerb(event, 'open', 'commit')) {
    return `a repeat of ${event.operation.verb} answers the same${isLate ? ' after the next sync was opened' : ''}`;
  }
  return isVerb(event, 'abandon')
    ? 'a repeat of abandon answers the same'
    : 'a repeat of another call answers the same';
}
