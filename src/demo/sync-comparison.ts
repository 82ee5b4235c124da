import type { SyncedSet } from './synced-set.js';
import type { UrlFile } from './url-file.js';

/** What a visited set said while it was synced from one list to another, beside an exact set. Counts of different URLs. */
export interface SyncComparison {
  /** Of the old list, told that they were seen: they are not stored. */
  readonly oldSeen: number;
  readonly listed: Listed;
  /** As the sync itself says. */
  readonly forgotten: number;
  /** Of the new list, not seen after the commit: there must be none. */
  readonly wronglyLost: number;
  /** Only on the old list, and seen after the commit. */
  readonly wronglyKept: number;
  readonly seconds: { readonly ingest: number; readonly list: number; readonly commit: number };
}

interface Listed {
  readonly fresh: number;
  readonly kept: number;
  /** Answered kept, though an exact set of the old list does not have them. */
  readonly wronglyKept: number;
  /** Answered new, though an exact set of the old list has them. */
  readonly wronglyNew: number;
}

/** Fills an empty set with the old list, and syncs it to the new one. */
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

/** The URLs of a list that another one does not have. */
export function* onlyIn(list: UrlFile, other: UrlFile): Generator<string> {
  for (const [key, url] of list.urls) if (!other.urls.has(key)) yield url;
}
