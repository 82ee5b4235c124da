import { row, SHA1_ENTRY_BYTES, whole } from './report.js';
import type { SyncComparison } from './sync-comparison.js';
import type { SetMemory } from './synced-set.js';
import type { UrlFile } from './url-file.js';

export interface SyncReportInput {
  readonly old: UrlFile;
  readonly now: UrlFile;
  /** Number of URLs in both input lists. */
  readonly shared: number;
  readonly errorRate: number;
  readonly comparison: SyncComparison;
  readonly memory: SetMemory;
}

/** The final table of the sync demo. */
export function syncReport({ old, now, shared, errorRate, comparison, memory }: SyncReportInput): string {
  const { oldSeen, listed, forgotten, wronglyKept, wronglyLost, seconds } = comparison;
  const stale = old.urls.size - shared;
  const exact = (urls: number): string =>
    `an exact SHA-1 set: ${whole((urls * SHA1_ENTRY_BYTES) / 1_024)}, computed`;
  const each = (urls: number, time: number): string =>
    `${whole(urls / Math.max(time, 1e-3))} URLs per second`;
  return [
    '',
    `${old.path} synced to ${now.path}, at error rate ${errorRate}`,
    '',
    row('old list', old.urls.size, different(old)),
    row('  seen', oldSeen, 'false positives: reported as seen, but new'),
    row('new list', now.urls.size, different(now)),
    row('  kept', listed.kept, `an exact set says ${whole(shared)}`),
    row('  new', listed.fresh, `an exact set says ${whole(now.urls.size - shared)}`),
    row('  wrongly kept', listed.wronglyKept, 'false positives: new, but reported as kept'),
    row('  wrongly new', listed.wronglyNew, 'on the old list, but reported as new'),
    row('forgotten', forgotten, `estimated by the sync; an exact set says ${whole(stale)}`),
    row('  wrongly kept', wronglyKept, `false positives: still seen, of ${whole(stale)}`),
    row('  wrongly lost', wronglyLost, `on the new list, but unseen; must be 0`),
    row('memory, KiB', memory.before / 1_024, `before; ${exact(old.urls.size)}`),
    row('', memory.during / 1_024, 'while the sync is open'),
    row('', memory.after / 1_024, `after; ${exact(now.urls.size)}`),
    row('time, ms', seconds.ingest * 1_000, `to ingest: ${each(old.urls.size, seconds.ingest)}`),
    row('', seconds.list * 1_000, `to list: ${each(now.urls.size, seconds.list)}`),
    row('', seconds.commit * 1_000, 'to commit'),
    '',
  ].join('\n');
}

function different({ given, invalid }: UrlFile): string {
  return `different URLs of ${whole(given)} lines; ${whole(invalid)} are not http or https URLs`;
}
