import type { Fault } from './attempt.js';
import { callsByItem, type Call, type History, type Subject } from './history.js';
import { ITEM_MODELS } from './item-model.js';
import { linearize } from './linearize.js';
import { narrow } from './narrow.js';
import { judgeQueue, wrongAnswers } from './queue-judge.js';
import { type Losses, reachOf, type Rewind } from './rewind.js';
import { judgeSynced, type SyncedReport } from './syncs/synced-judge.js';
import type { Violation } from './violation.js';

export interface Report {
  readonly itemsChecked: number;
  /** The number of queue entries. 0 if no client used the queue. */
  readonly entriesChecked: number;
  /** Items whose histories were too long to search. Such histories prove nothing. */
  readonly undecided: number;
  /** Absent if no sets were synced. */
  readonly synced?: SyncedReport;
  readonly violations: readonly Violation[];
}

const SUBJECTS: readonly Subject[] = ['set', 'multiset'];

/**
 * Checks a run. It checks every answer alone, every item's calls for linearizability, the filters' descriptions against
 * the items found at the end, and the queue by its own rules. Items are independent, because the error rates are so low
 * that no item ever tests positive because of other items.
 */
export function checkHistory(history: History, losses?: Losses): Report {
  const violations: Violation[] = [
    ...history.failures.map((what) => ({ what })),
    ...wrongAnswers(history.attempts),
  ];
  const rewinds = rewindsOf(history.faults, losses);
  let itemsChecked = 0;
  let undecided = 0;
  for (const subject of SUBJECTS) {
    for (const [name, calls] of callsByItem(history.attempts, subject)) {
      itemsChecked++;
      const verdict = linearize(calls, ITEM_MODELS[subject], rewinds);
      if (verdict === 'undecided') undecided++;
      if (verdict !== 'violation') continue;
      const needed = narrow(calls, ITEM_MODELS[subject], rewinds);
      violations.push({ what: guaranteeOf(needed), item: { subject, name, calls: needed } });
    }
  }
  violations.push(...wrongDescriptions(history));
  const queue = history.queue && judgeQueue(history.queue, history.faults, losses);
  violations.push(...(queue?.violations ?? []));
  const synced = history.synced && judgeSynced(history.synced, history.faults, losses);
  violations.push(...(synced?.violations ?? []));
  const entriesChecked = queue?.entriesChecked ?? 0;
  return { itemsChecked, entriesChecked, undecided, ...(synced && { synced }), violations };
}

function rewindsOf(faults: readonly Fault[], losses: Losses | undefined): Rewind[] {
  if (losses === undefined) return [];
  const rewinds = faults.flatMap(({ diedAt, heldAt, end }) => {
    if (diedAt === undefined) return [];
    return [{ start: diedAt, end, ...losses, reachMs: reachOf(losses, { diedAt, heldAt }) }];
  });
  return rewinds.sort((a, b) => a.start - b.start);
}

/** The guarantee that a minimal history's last answer breaks. */
function guaranteeOf(calls: readonly Call[]): string {
  const answered = calls.filter(({ answer }) => answer !== undefined);
  const last = answered.reduce((latest, call) => (call.end > latest.end ? call : latest));
  const repeats = answered.filter(({ operation }) => operation === last.operation);
  if (new Set(repeats.map(({ answer }) => answer)).size > 1) return 'G5: a repeat was answered differently';
  if (last.verb === 'add') return `G3: no order of the calls explains the add answered ${last.answer}`;
  if (last.verb === 'remove') return `G4: no order of the calls explains the removal answered ${last.answer}`;
  const seen = last.answer === 'false' || last.answer === '0' ? 'G1: a stored item was not found' : undefined;
  return seen ?? `G5: no order of the calls, each happening once, explains ${last.verb} ${last.answer}`;
}

/** A filter's description must count as many items as the last checks found. */
function wrongDescriptions({ attempts, descriptions }: History): Violation[] {
  return descriptions.flatMap(({ subject, items }) => {
    let present = 0;
    for (const calls of callsByItem(attempts, subject).values()) {
      const checks = calls.filter(({ verb, answer }) => verb === 'check' && answer !== undefined);
      if (checks.at(-1)?.answer?.startsWith('true') === true) present++;
    }
    return present === items
      ? []
      : [{ what: `filter ${subject} says it holds ${items} items, but ${present} are found in it` }];
  });
}
