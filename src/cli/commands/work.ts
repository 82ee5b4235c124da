import { RetryAfterError, Worker, type AgainAfter } from '#client';
import { Exit, Interrupted, oneLine, reasonOf, UsageError } from '../ending.js';
import { number } from '../terminal/progress.js';
import { Child } from './child.js';
import { tell, type Context } from './context.js';
import { findSet } from './found.js';

export interface WorkOptions {
  /** A shell command. It gets the URL as its last argument. */
  readonly exec: string;
  readonly parallel: number;
  /** In seconds. */
  readonly lease: number;
  /** Delay before a failed URL is retried, in seconds. Absent: doubles with each attempt. */
  readonly delay?: number;
  /** In seconds. Absent: acknowledged URLs leave the queue. */
  readonly againAfter?: number;
  readonly untilEmpty?: boolean;
  /** Used with `untilEmpty`. */
  readonly tries?: number;
}

/** Leases URLs and runs a command for each. */
export async function work(context: Context, name: string, options: WorkOptions): Promise<Exit> {
  const { interruption, errors, quiet } = context;
  interruption.bePatient();
  const { handle, description } = await findSet(context.client, name, 'work');
  const { soft, hard } = interruption;
  const { delay, againAfter } = options;
  if (againAfter !== undefined && 'maxAgeSeconds' in description)
    throw new UsageError(
      `--again-after does not apply to ${name}, which has --max-age: its URLs come back when they are discovered again`,
    );
  const worker = new Worker(
    handle,
    async (task): Promise<AgainAfter> => {
      const child = new Child(options.exec, task, errors);
      const kill = (): void => child.kill();
      for (const signal of [hard, task.signal]) signal.addEventListener('abort', kill, { once: true });
      const failure = await child.failure;
      for (const signal of [hard, task.signal]) signal.removeEventListener('abort', kill);
      if (failure === undefined) return { againAfterSeconds: againAfter };
      // The command didn't fail: this program ended it.
      if (hard.aborted) throw new RetryAfterError('the worker was stopped', 0, { countAttempt: false });
      const { reason, retryAfterSeconds } = failure;
      throw retryAfterSeconds === undefined
        ? new Error(reason)
        : new RetryAfterError(reason, retryAfterSeconds, { host: true });
    },
    {
      concurrency: options.parallel,
      leaseSeconds: options.lease,
      untilEmpty: options.untilEmpty ?? false,
      ...(delay !== undefined && { delaySeconds: () => delay }),
      ...(options.tries !== undefined && { tries: options.tries }),
      onError: (error, task) => {
        if (!quiet && task === undefined) errors.write(`unseen: ${oneLine(reasonOf(error))}\n`);
      },
    },
  );
  const stop = (): void => void worker.stop();
  soft.addEventListener('abort', stop, { once: true });
  if (soft.aborted) stop();
  const { done, failed, released, lost } = await worker.run();
  const rest = Object.entries({ 'given back': released, lost }).filter(([, count]) => count > 0);
  const counts = [['done', done] as const, ['failed', failed] as const, ...rest];
  const said = counts.map(([what, count]) => `${number(count)} ${what}`).join(', ');
  await tell(context, { verb: 'work', name, done, failed, released, lost }, `work ${name}: ${said}`);
  if (soft.aborted) throw new Interrupted();
  return failed + lost > 0 ? Exit.Partial : Exit.Done;
}
