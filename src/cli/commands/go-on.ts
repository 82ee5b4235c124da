import { ChangedListError, ServiceError } from '#client';
import { UsageError } from '../ending.js';
import type { Job } from '../jobs/job.js';
import { STDIN } from '../sources/names.js';
import type { Context } from './context.js';

/** A job can't resume. Thrown before its sources are read. */
export class CannotGoOn extends Error {}

export interface Going<T> {
  /** For example `visit crawl`. */
  readonly label: string;
  readonly job: Job;
  readonly sources: readonly string[];
  /** Runs the job, from its checkpoint or from the start. */
  readonly attempt: () => Promise<T>;
  /** Abandons the job's sync. */
  readonly abandon?: (() => Promise<void>) | undefined;
  /** True if running the job twice has the same result as running it once. */
  readonly isRepeatable: boolean;
}

/**
 * Runs a job. If it can't resume from an earlier call's checkpoint, starts over once: otherwise, a nightly job would
 * stay stuck after one bad night.
 */
export async function goOn<T>(context: Context, going: Going<T>): Promise<T> {
  const { label, job, sources, attempt, abandon, isRepeatable } = going;
  const say = (why: string): void => {
    if (!context.quiet) context.errors.write(`${label}: starting over: ${why}\n`);
  };
  if (job.whyReplaced !== undefined) say(job.whyReplaced);
  try {
    return await attempt();
  } catch (error) {
    const why = job.resumed ? whyNot(error) : undefined;
    if (why === undefined) throw error;
    if (!isRepeatable)
      throw new UsageError(
        `${why}: start over with --restart; lines already processed are then counted twice`,
      );
    await abandon?.();
    job.beginAnew();
    const isRead = !(error instanceof CannotGoOn);
    if (isRead && (sources.length === 0 || sources.includes(STDIN)))
      throw new UsageError(`${why}: stdin cannot be read twice; run the command again to start over`);
    say(why);
    return attempt();
  }
}

/** Why a job can't resume, or undefined for other errors. */
function whyNot(error: unknown): string | undefined {
  if (error instanceof CannotGoOn) return error.message;
  if (error instanceof ChangedListError) return `the sources changed: ${error.detail}`;
  const isOver = error instanceof ServiceError && ['SYNC_ENDED', 'SYNC_NOT_FOUND'].includes(error.code);
  return isOver ? 'the sync of this job has ended' : undefined;
}
