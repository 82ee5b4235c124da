import type { Losses } from '../rewind.js';
import type { Violation } from '../violation.js';
import type { Fault } from '../attempt.js';
import { Doubts } from '../queue-doubts.js';
import { wrongAnswers } from '../queue-judge.js';
import type { Step } from '../queue-trail.js';
import { BECAUSE, Presence } from './presence.js';
import { judgeSyncs, SYNC_RULES } from './sync-rules.js';
import {
  isVerb,
  syncedEventsOf,
  wordsOf,
  type SyncedAttempt,
  type SyncedHistory,
  type SyncedSet,
} from './synced-history.js';
import { syncsOf, type SyncLife } from './timeline.js';
import { urlCallsOf, type UrlCall, type UrlCalls } from './url-calls.js';

export const SYNCED_RULES = [...BECAUSE, ...SYNC_RULES, 'data is lost only if it is'] as const;

export type SyncedRule = (typeof SYNCED_RULES)[number];

export interface SyncedReport {
  readonly syncs: number;
  readonly urls: number;
  /** How often the answers decided whether a rule is kept. */
  readonly exercised: ReadonlyMap<SyncedRule, number>;
  readonly violations: readonly Violation[];
}

/**
 * Checks the answers that synced sets' clients got, by rules that apply to every order of calls. A call without an
 * answer may have taken effect at any time since it was sent, or never. The same applies to a call with an answer, if a
 * failover may have lost it.
 */
export function judgeSynced(
  { sets, attempts }: SyncedHistory,
  faults: readonly Fault[],
  losses?: Losses,
): SyncedReport {
  const doubts = new Doubts(faults, losses);
  const exercised = new Map<SyncedRule, number>();
  const count = (rule: SyncedRule) => exercised.set(rule, (exercised.get(rule) ?? 0) + 1);
  const violations: Violation[] = [];
  let [syncCount, urlCount] = [0, 0];

  // If changes don't wait for replicas, a failover may lose data permanently.
  const mayLack = ({ end, note }: SyncedAttempt) =>
    note?.includes('STORE_DATA_LOST') === true && doubts.mayBeLost({ start: 0, end: Infinity }, end);
  for (const attempt of attempts) {
    if (mayLack(attempt)) continue;
    if (attempt.outcome === 'ok') count('data is lost only if it is');
    violations.push(...wrongAnswers([attempt]));
  }
  for (const set of sets) {
    const events = syncedEventsOf(attempts, set.name);
    const syncs = syncsOf(events, doubts);
    judgeSyncs(events, syncs, doubts, (rule, holds, what, calls) => {
      count(rule);
      if (!holds) violations.push({ what: `${rule}: ${what}`, trail: calls.map((one) => stepOf(one)) });
    });
    const urls = urlCallsOf(events, doubts);
    for (const url of urls) violations.push(...judgeUrl(set, url, syncs, doubts, count));
    syncCount += syncs.length;
    urlCount += urls.length;
  }
  return { syncs: syncCount, urls: urlCount, exercised, violations };
}

function judgeUrl(
  set: SyncedSet,
  url: UrlCalls,
  syncs: readonly SyncLife[],
  doubts: Doubts,
  count: (rule: SyncedRule) => void,
): Violation[] {
  const presence = new Presence(set, syncs, doubts, url);
  const violations: Violation[] = [];
  for (const call of [...url.checks, ...url.adds, ...url.forgets, ...url.lists]) {
    const { found } = call;
    if (found === undefined || doubts.mayBeLost(call)) continue;
    const [seen, unseen] = [presence.seenBecause(call), presence.unseenBecause(call)];
    for (const rule of [...seen, ...unseen]) count(rule);
    const broken = [...(found ? unseen : seen)];
    if (broken.length === 0) continue;
    const { verb, id } = call.event.operation;
    const what = `${url.url} of ${set.name} was not ${broken.join(', nor ')}: ${verb} (operation ${id}) answered ${call.word}`;
    violations.push({ what, trail: trailOf(url, syncs, call.end) });
  }
  // Reports only the first wrong answer about a URL.
  return violations.slice(0, 1);
}

/** The calls on a URL up to a time, and its set's syncs. */
function trailOf(url: UrlCalls, syncs: readonly SyncLife[], until: number): Step[] {
  const acks = url.queued.flatMap((one) => one.acks);
  const calls: UrlCall[] = [...url.adds, ...url.lists, ...url.forgets, ...url.checks];
  const from = Math.min(...calls.map(({ start }) => start));
  return [
    ...calls
      .filter(({ start }) => start <= until)
      .flatMap(({ event, word }) => event.attempts.map((attempt) => stepOf(attempt, word))),
    ...acks.map(({ start, end, word }) => ({ start, end, text: `ack -> ${word ?? '?'}` })),
    ...syncs
      .filter((sync) => sync.openedFrom <= until && Math.min(sync.committedBy, sync.abandonedBy) >= from)
      .flatMap(({ id, openedFrom, openedBy, commitFrom, committedBy, abandonFrom, abandonedBy }) => [
        { start: openedFrom, end: openedBy, text: `sync ${id} is opened` },
        ...(commitFrom < Infinity
          ? [{ start: commitFrom, end: committedBy, text: `sync ${id} is committed` }]
          : []),
        ...(abandonedBy < Infinity
          ? [{ start: Math.min(abandonFrom, abandonedBy), end: abandonedBy, text: `sync ${id} is abandoned` }]
          : []),
      ]),
  ];
}

function stepOf(attempt: SyncedAttempt, word?: string): Step {
  const { operation, client, instance, start, end, outcome, answers, note } = attempt;
  const known = outcome === 'ok';
  const own = answers && wordsOf({ answers });
  const told = word ?? (answers && 'sync' in answers ? JSON.stringify(answers.sync) : own?.join());
  const event = { operation } as Parameters<typeof isVerb>[0];
  const sync = isVerb(event, 'list', 'commit', 'abandon', 'look') ? ` ${event.operation.sync}` : '';
  const ttl = 'ttlSeconds' in operation ? ` for ${operation.ttlSeconds} s` : '';
  return {
    start,
    end: known ? end : Infinity,
    text: `${operation.verb}${sync}${ttl} -> ${known ? told : `? ${note ?? 'not answered'}`}   (operation ${operation.id}  client ${client}  instance ${instance})`,
  };
}
