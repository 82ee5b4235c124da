import type { SyncedSet } from './synced-set.js';
import type { UrlFile } from './url-file.js';

/**
 * A visited set's results during a sync between two input lists, compared with an exact set's. Counts distinct URLs.
 */
export interface SyncComparison {
  /** Number of URLs in the old input list that got `seen`. They are not stored. */
  readonly oldSeen: number;
  readonly listed: Listed;
  /** As the sync itself reports it. */
  readonly forgotten: number;
  /** Number of URLs in the new input list that are unseen after the commit. Must be 0. */
  readonly wronglyLost: number;
  /** Number of URLs that are only in the old input list, but seen after the commit. */
  readonly wronglyKept: number;
  readonly seconds: { readonly ingest: number; readonly list: number; readonly commit: number };
}

interface Listed {
  readonly fresh: number;
  readonly kept: number;
  /** Number of URLs that got `kept` but aren't in the old input list. */
  readonly wronglyKept: number;
  /** Number of URLs that got `new` but are in the old input list. */
  readonly wronglyNew: number;
}

/** Fills an empty set with the old input list, and syncs it to the new one. */
export async function compareSync(old: UrlFile, now: UrlFile, set: SyncedSet): Promise<SyncComparison> {
  let oldSeen = 0;
  const ingest = await set.pass('ingest', 'visit', old.urls.values(), (answer) => {
    if (answer === 'seen') oldSeen++;
  });
  await set.openSync(now.urls.size);
  const listed = { fresh: 0, kept: 0, wronglyKept: 0, wronglyNew: 0 };
  const wasOld = Array.from(now.urls.keys(), (key) => old.urls.has(key));
  const list = await set.pass('list', 'keep', now.urls.values(), (answer, place) => {
    if (answer === 'new') listed.fresh++;
    if (answer === 'kept') listed.kept++;
    if (answer === 'kept' && !wasOld[place]) listed.wronglyKept++;
    if (answer === 'new' && wasOld[place]) listed.wronglyNew++;
  });
  const { forgotten, seconds: commit } = await set.commitSync();
  let wronglyLost = 0;
  await set.pass('check new', 'check', now.urls.values(), (answer) => {
    if (answer !== 'seen') wronglyLost++;
  });
  let wronglyKept = 0;
  await set.pass('check old', 'check', onlyIn(old, now), (answer) => {
    if (answer === 'seen') wronglyKept++;
  });
  return { oldSeen, listed, forgotten, wronglyLost, wronglyKept, seconds: { ingest, list, commit } };
}

/** The URLs that are in one input list but not in the other. */
export function* onlyIn(list: UrlFile, other: UrlFile): Generator<string> {
  for (const [key, url] of list.urls) if (!other.urls.has(key)) yield url;
}
