import { UnseenClient } from '#client';
import { compareSync, onlyIn } from './sync-comparison.js';
import { syncReport } from './sync-report.js';
import type { ProgressOutput } from './progress.js';
import { SyncedSet } from './synced-set.js';
import type { UrlFile } from './url-file.js';

const CLEAN_UP_MS = 10_000;

/** A sync's report, and whether the sync kept its promise. */
export interface SyncDemo {
  readonly report: string;
  /** How many URLs from the new input list were lost. Must be 0. */
  readonly lost: number;
}

/** Runs a sync between two input lists in a service, and leaves nothing behind. */
export async function runSyncDemo(
  lists: { readonly old: UrlFile; readonly now: UrlFile; readonly errorRate: number },
  url: URL,
  output: ProgressOutput,
  signal: AbortSignal,
): Promise<SyncDemo> {
  const { old, now, errorRate } = lists;
  const parameters = { capacity: old.urls.size, errorRate };
  const set = await SyncedSet.create(new UnseenClient({ url }), parameters, output, signal);
  try {
    const comparison = await compareSync(old, now, set);
    let stale = 0;
    for (const _ of onlyIn(old, now)) stale++;
    const shared = old.urls.size - stale;
    const report = syncReport({ old, now, shared, errorRate, comparison, memory: set.memory });
    return { report, lost: comparison.wronglyLost };
  } finally {
    await set.drop(AbortSignal.timeout(CLEAN_UP_MS)).catch((error: unknown) => {
      output.write(`demo: its visited set may not have been deleted: ${String(error)}\n`);
    });
  }
}
