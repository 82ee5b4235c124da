import { AccessError, ServiceError, UnavailableError, type CommittedSync } from '#client';
import { Ending, Exit, Interrupted, UsageError } from '../ending.js';
import { Job } from '../jobs/job.js';
import { counted, number, time } from '../terminal/progress.js';
import { interrupted, partialOr, refusedIn, withAll, words } from './change.js';
import { tell, type Context } from './context.js';
import { feed, identityOf, keepingOf, sourcesOf, type FeedOptions, type JobFlags } from './feed.js';
import { find, type Found } from './found.js';
import { goOn } from './go-on.js';
import { abandon, syncOf } from './own-sync.js';

export interface SyncOptions extends FeedOptions, JobFlags {
  readonly capacity?: number;
  readonly errorRate?: number;
  readonly force?: boolean;
  readonly maxForgetShare?: number;
  readonly allowIncomplete?: boolean;
  readonly dryRun?: boolean;
  readonly abandon?: boolean;
}

/** A source was empty, or an entry was refused. A commit would then forget the URLs that are missing. */
class Incomplete extends UsageError {}

class InterruptedInCommit extends Interrupted {
  constructor() {
    super(
      'interrupted during the commit, which the service may still finish; run the same command again to continue or start a new sync',
    );
  }
}

/** Forgets everything that the sources don't contain. */
export async function sync(
  context: Context,
  name: string,
  sources: readonly string[],
  options: SyncOptions,
): Promise<Exit> {
  const found = await find(context.client, name);
  if (options.abandon) return abandonOpen(context, found, sources);
  const { capacity, errorRate, format } = options;
  const about = [context.url, identityOf(sources), format, capacity, errorRate];
  const { generation } = found.description;
  // A dry run has no checkpoint, because a later call has nothing to resume.
  const keeping = options.dryRun ? undefined : keepingOf(sources, options, context);
  const job = await Job.open({
    ...{ verb: 'sync', name, generation, about, keeping },
    abandon: (former) => abandon(context.client, found, former),
  });
  const abandonOwn = (): Promise<void> => abandon(context.client, found, job.ownSync);
  try {
    const attempt = (): Promise<Committed> => run(context, found, job, sources, options);
    const label = `sync ${name}`;
    const going = { label, job, sources, attempt, abandon: abandonOwn, isRepeatable: true };
    const { done, seconds } = await goOn(context, going);
    if (options.dryRun) await abandonOwn();
    job.finish();
    return await report(context, name, job, done, seconds, options);
  } catch (error) {
    const isLeft = job.isKept && job.hasBegun && !isOver(error);
    if (!isLeft) await abandonOwn();
    if (isLeft) job.leave();
    else job.finish();
    if (!(error instanceof Interrupted)) throw withAdvice(error, name);
    throw isLeft && error instanceof InterruptedInCommit ? error : interrupted(job, isLeft);
  }
}

/**
 * True if repeating the command would fail the same way. The caller then abandons the sync, so that it doesn't block
 * the next one. After other errors, the command may succeed later or with other credentials.
 */
function isOver(error: unknown): boolean {
  if (error instanceof Incomplete) return true;
  return (
    error instanceof ServiceError && !(error instanceof AccessError || error instanceof UnavailableError)
  );
}

/** Adds a hint to the error about how to abandon the sync that blocks this one. */
function withAdvice(error: unknown, name: string): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'SYNC_EXISTS') return error;
  return new Ending(Exit.Refused, `${error.message}; to abandon it, run: unseen sync ${name} --abandon`);
}

interface Committed {
  readonly done: CommittedSync;
  readonly seconds: number;
}

async function run(
  context: Context,
  { handle }: Found,
  job: Job,
  names: readonly string[],
  options: SyncOptions,
): Promise<Committed> {
  const { force, maxForgetShare, dryRun } = options;
  const source = await sourcesOf(context, names, options);
  const opened = handle.syncs.get(await syncOf(handle, job, options, context.interruption));
  const label = `sync ${handle.name}`;
  const { seconds } = await feed(context, {
    ...{ source, label, verb: { send: opened.keep }, parallel: options.parallel, job },
  });
  if (options.allowIncomplete !== true) assertComplete(label, job, source.empty);
  const asked = {
    ...(force && { force }),
    ...(maxForgetShare !== undefined && { maxForgetShare }),
    ...(dryRun && { dryRun }),
  };
  try {
    const done = await opened.commit(asked, { signal: context.interruption.soft });
    return { done, seconds };
  } catch (error) {
    // The service finishes the commit.
    throw error instanceof Interrupted && dryRun !== true ? new InterruptedInCommit() : error;
  }
}

/** Throws Incomplete if a source is empty or an entry was refused. */
function assertComplete(label: string, job: Job, empty: readonly string[]): void {
  const refused = refusedIn(withAll([], job.checkpoint));
  const faults: string[] = [];
  if (refused > 0) {
    const first = job.firstRefused ?? '';
    faults.push(
      refused === 1
        ? `1 entry was refused, ${first}`
        : `${number(refused)} entries were refused, the first: ${first}`,
    );
  }
  const [first, ...others] = empty;
  if (first !== undefined)
    faults.push(
      others.length === 0 ? `${first} is empty` : `${first} and ${number(others.length)} more are empty`,
    );
  if (faults.length === 0) return;
  const advice = 'Fix the sources, or commit anyway with --allow-incomplete';
  throw new Incomplete(
    `${label} stopped before the commit; nothing was forgotten: ${faults.join('; ')}. ${advice}`,
  );
}

/** Abandons the open sync, even if another command opened it. */
async function abandonOpen(
  context: Context,
  { kind, handle, description }: Found,
  sources: readonly string[],
): Promise<Exit> {
  if (sources.length > 0) throw new UsageError('--abandon takes no sources; it only abandons the open sync');
  const { name } = handle;
  const current = 'sync' in description ? description.sync : undefined;
  if (current !== undefined)
    await handle.syncs.get(current.id).abandon({ signal: context.interruption.soft });
  const line =
    current === undefined
      ? `sync ${name}: no sync is open`
      : `sync ${name}: abandoned ${current.id}; nothing was forgotten`;
  await tell(context, { verb: 'sync', name, kind, abandoned: current?.id ?? null }, line);
  return Exit.Done;
}

async function report(
  context: Context,
  name: string,
  job: Job,
  { wouldForget, items, refused }: CommittedSync,
  seconds: number,
  { dryRun }: SyncOptions,
): Promise<Exit> {
  const counts = withAll(['kept', 'new', 'forgotten'], job.checkpoint);
  const figures = { forgets: wouldForget, items, ...(dryRun && { dryRun: true, refused }) };
  const forgets = `${number(wouldForget)} of ${counted(items, 'item')}`;
  const tooMany = refused === true ? ', more than allowed' : '';
  const said = dryRun ? `would forget ${forgets}${tooMany}; nothing was changed` : `forgot ${forgets}`;
  const line = `sync ${name}: ${said}; listed: ${words(counts)} (${time(seconds)})`;
  await tell(context, { verb: 'sync', name, counts, ...figures }, line);
  return refused === true ? Exit.Refused : partialOr(counts);
}
