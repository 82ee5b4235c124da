import { AccessError, ServiceError, UnavailableError, type CommittedSync, type Sync } from '#client';
import { Exit, Interrupted } from '../ending.js';
import { Job } from '../jobs/job.js';
import { number, time } from '../terminal/progress.js';
import { interrupted, partialOr, withAll, words } from './change.js';
import { tell, type Context } from './context.js';
import { feed, identityOf, keepingOf, sourcesOf, type FeedOptions, type JobFlags } from './feed.js';
import { find, type Found } from './found.js';
import { sending } from './sending.js';

export interface SyncOptions extends FeedOptions, JobFlags {
  readonly capacity?: number;
  readonly errorRate?: number;
  readonly force?: boolean;
  readonly maxForgetShare?: number;
  readonly dryRun?: boolean;
}

const ABANDON_MS = 5_000;

/** Forgets what the sources do not list. */
export async function sync(
  context: Context,
  name: string,
  sources: readonly string[],
  options: SyncOptions,
): Promise<Exit> {
  const found = await find(context.client, name);
  const { capacity, errorRate, format } = options;
  const about = [context.url, identityOf(sources), format, capacity, errorRate];
  const { generation } = found.description;
  // Of a try nothing is left, so there is nothing to go on with.
  const keeping = options.dryRun ? undefined : keepingOf(sources, options, context);
  const job = Job.open({ verb: 'sync', name, generation, about, keeping });
  try {
    const { done, seconds } = await run(context, found, job, sources, options);
    if (options.dryRun) await abandon(found, job);
    job.finish();
    return await report(context, name, job, done, seconds, options);
  } catch (error) {
    const isKept = job.isKept && !isOver(error);
    if (!isKept) await abandon(found, job);
    if (isKept || !job.isKept) job.leave();
    else job.finish();
    throw error instanceof Interrupted ? interrupted(job) : error;
  }
}

/** Whether a refusal is for good: a sync that is given up leaves nothing locked. With other credentials, or later, another may go on. */
function isOver(error: unknown): boolean {
  return (
    error instanceof ServiceError && !(error instanceof AccessError || error instanceof UnavailableError)
  );
}

async function run(
  context: Context,
  { handle }: Found,
  job: Job,
  names: readonly string[],
  options: SyncOptions,
): Promise<{ done: CommittedSync; seconds: number }> {
  const { capacity, errorRate, force, maxForgetShare, dryRun } = options;
  const { hard, soft } = context.interruption;
  let opened: Sync<string>;
  if (job.sync !== undefined) opened = handle.syncs.get(job.sync);
  else {
    const asked = {
      ...(capacity !== undefined && { capacity }),
      ...(errorRate !== undefined && { errorRate }),
    };
    opened = await handle.syncs.open(asked, { idempotencyKey: job.key('open'), signal: hard });
    job.opened(opened.id);
  }
  const { seconds } = await feed(context, {
    source: await sourcesOf(context, names, options),
    ...{ label: `sync ${handle.name}`, send: sending(opened.keep), parallel: options.parallel, job },
  });
  const asked = {
    ...(force && { force }),
    ...(maxForgetShare !== undefined && { maxForgetShare }),
    ...(dryRun && { dryRun }),
  };
  // It goes on by itself: who ends the command now finds it committed when it is called again.
  const done = await opened.commit(asked, { signal: soft });
  return { done, seconds };
}

/** Gives the sync up, so that nothing of it stays. A failure is not told: the service gives it up later. */
async function abandon({ handle }: Found, job: Job): Promise<void> {
  if (job.sync === undefined) return;
  const signal = AbortSignal.timeout(ABANDON_MS);
  await handle.syncs
    .get(job.sync)
    .abandon({ signal })
    .catch(() => undefined);
}

async function report(
  context: Context,
  name: string,
  job: Job,
  { wouldForget, items, refused }: CommittedSync,
  seconds: number,
  { dryRun }: SyncOptions,
): Promise<Exit> {
  const counts = withAll(['kept', 'new', 'forgotten'], job.counts, job.refused);
  const figures = { forgets: wouldForget, items, ...(dryRun && { dryRun: true, refused }) };
  const forgets = `${number(wouldForget)} of ${number(items)} items`;
  const tooMany = refused === true ? ', which is more than is allowed' : '';
  const said = dryRun ? `would forget ${forgets}${tooMany}; nothing was changed` : `forgot ${forgets}`;
  const line = `sync ${name}: ${said}; listed: ${words(counts)} (${time(seconds)})`;
  await tell(context, { verb: 'sync', name, counts, ...figures }, line);
  return refused === true ? Exit.Refused : partialOr(counts);
}
