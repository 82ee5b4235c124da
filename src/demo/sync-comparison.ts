import type { SyncedSet } from './synced-set.js';
import type { UrlFile } from './url-file.js';

/**
 * The results of a visited set during a sync between two input lists, compared with an exact set. Counts of distinct
 * URLs.
 */
export interface SyncComparison {
  /** Number of URLs of the old input list with the result seen. They are not stored. */
  readonly oldSeen: number;
  readonly listed: Listed;
  /** The count that the sync itself reports. */
  readonly forgotten: number;
  /** Number of URLs of the new input list that are unseen after the commit. It must be 0. */
  readonly wronglyLost: number;
  /** Number of URLs only in the old input list that are seen after the commit. */
  readonly wronglyKept: number;
  readonly seconds: { readonly ingest: number; readonly list: number; readonly commit: number };
}

interface Listed {
  readonly fresh: number;
  readonly kept: number;
  /** Number of URLs with the result kept that an exact set of the old input list does not have. */
  readonly wronglyKept: number;
  /** Number of URLs with the result new that an exact set of the old input list has. */
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

/** The URLs of one input list that another one does not have. */
export function* onlyIn(list: UrlFile, other: UrlFile): Generator<string> {
  for (const [key, url] of list.urls) if (!other.urls.has(key)) yield url;
}
