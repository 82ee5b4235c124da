import { ServiceError, UnavailableError, type UnseenClient } from '#client';
import type { Job, Opening, OwnSync } from '../jobs/job.js';
import type { Interruption } from '../interruption.js';
import { find, type Found } from './found.js';
import { CannotGoOn } from './go-on.js';

const ABANDON_MS = 5_000;

/**
 * Returns the job's sync: the one that an earlier call opened, or a new one. Waits for a commit in progress. Throws
 * CannotGoOn if the sync was abandoned or committed. A committed sync can't be reused, because its input list says
 * nothing about URLs visited since then.
 */
export async function syncOf(
  { syncs }: Found['handle'],
  job: Job,
  asked: Opening,
  { hard, soft }: Interruption,
): Promise<string> {
  const id = job.sync ?? (await openOwn(syncs, job, asked, hard));
  if (!job.resumed) return id;
  const sync = syncs.get(id);
  const { state } = await sync.describe({ signal: soft }).catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === 'SYNC_NOT_FOUND') return { state: 'abandoned' };
    throw error;
  });
  if (state === 'abandoned') throw new CannotGoOn('the sync of this job has ended');
  if (state === 'open') return id;
  if (state === 'committing') await sync.commit({}, { signal: soft });
  throw new CannotGoOn(`an earlier call committed sync ${id}`);
}

/** Opens a job's sync. If an earlier attempt opened one but its answer was lost, returns that sync. */
async function openOwn(
  syncs: Found['handle']['syncs'],
  job: Job,
  { capacity, errorRate }: Opening,
  signal: AbortSignal,
): Promise<string> {
  const isRepeat = job.ownSync !== undefined;
  const asked = job.opens({
    ...(capacity !== undefined && { capacity }),
    ...(errorRate !== undefined && { errorRate }),
  });
  try {
    const { id } = await syncs.open(asked, { idempotencyKey: job.openingKey, signal });
    job.opened(id);
    return id;
  } catch (error) {
    const isRefused =
      error instanceof ServiceError && error.status < 500 && !(error instanceof UnavailableError);
    // This call opened no sync. On a repeat, an earlier attempt may still have opened one.
    if (isRefused && !isRepeat) job.opened();
    throw error;
  }
}

/**
 * Abandons a sync. `found` is the command's set, but the sync may belong to another one. Ignores failures, because the
 * service abandons the sync later anyway.
 */
export async function abandon(client: UnseenClient, found: Found, sync: OwnSync | undefined): Promise<void> {
  if (sync === undefined) return;
  const signal = AbortSignal.timeout(ABANDON_MS);
  try {
    const { handle } = sync.name === found.handle.name ? found : await find(client, sync.name);
    const { syncs } = handle;
    const opened =
      'id' in sync
        ? syncs.get(sync.id)
        : await syncs.open(sync.opening, { idempotencyKey: sync.key, signal });
    await opened.abandon({ signal });
  } catch {
    // Not reported: see above.
  }
}
