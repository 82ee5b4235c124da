import type { Report } from './checker.js';
import { SYNCED_RULES, type SyncedReport } from './syncs/synced-judge.js';
import { mutates, type Attempt, type History } from './history.js';
import { type Fault } from './attempt.js';

/** A one-line summary of operations, faults and findings. */
export function summary(history: History, report: Report): string {
  const { attempts, faults } = history;
  const by = (outcome: Attempt['outcome']) =>
    attempts.filter((attempt) => attempt.outcome === outcome).length;
  const operations = new Set(attempts.map(({ operation }) => operation.id)).size;
  const changes = attempts.filter(({ operation }) => mutates(operation.verb));
  const retries = changes.length - new Set(changes.map(({ operation }) => operation.id)).size;
  return [
    `operations ${operations}`,
    `requests ${attempts.length} (ok ${by('ok')}, info ${by('info')}, fail ${by('fail')})`,
    `retries ${retries}`,
    `faults ${struck(faults)}`,
    `items checked ${report.itemsChecked}`,
    `requests of the queue ${history.queue?.attempts.length ?? 0}`,
    `its entries checked ${report.entriesChecked}`,
    `undecided ${report.undecided}`,
    `violations ${report.violations.length}`,
  ].join('; ');
}

/** How many faults of each kind there are. */
export function struck(faults: readonly Fault[]): string {
  const kinds = [...new Set(faults.map(({ kind }) => kind))].sort();
  const counts = kinds.map((kind) => `${kind} ${faults.filter((fault) => fault.kind === kind).length}`);
  return counts.join(', ') || 'none';
}

/** How often each rule of synced sets was exercised, one per line. */
export function exercisedText({ syncs, urls, exercised }: SyncedReport): string {
  const counts = SYNCED_RULES.map((rule) => `  ${String(exercised.get(rule) ?? 0).padStart(7)}  ${rule}`);
  return [`syncs ${syncs}; their URLs ${urls}; each rule was exercised so often:`, ...counts].join('\n');
}
