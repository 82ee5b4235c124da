import { Worker } from '#client';
import { Exit, Interrupted, oneLine, reasonOf } from '../ending.js';
import { number } from '../terminal/progress.js';
import { Child } from './child.js';
import { tell, type Context } from './context.js';
import { findSet } from './found.js';

export interface WorkOptions {
  /** A command of the shell, which gets the URL as its last argument. */
  readonly exec: string;
  readonly parallel: number;
  /** Seconds. */
  readonly lease: number;
  /** Seconds before a URL that failed comes back. */
  readonly delay: number;
  readonly untilEmpty?: boolean;
}

/** Leases URLs, and runs a command for each. */
export async function work(context: Context, name: string, options: WorkOptions): Promise<Exit> {
  const { interruption, errors, quiet } = context;
  interruption.bePatient();
  const { handle } = await findSet(context.client, name, 'work');
  const { soft, hard } = interruption;
  const worker = new Worker(
    handle,
    async (task) => {
      const child = new Child(options.exec, task, errors);
      const kill = (): void => child.kill();
      for (const signal of [hard, task.signal]) signal.addEventListener('abort', kill, { once: true });
      const failure = await child.failure;
      for (const signal of [hard, task.signal]) signal.removeEventListener('abort', kill);
      if (failure !== undefined) throw new Error(failure);
    },
    {
      concurrency: options.parallel,
      leaseSeconds: options.lease,
      untilEmpty: options.untilEmpty ?? false,
      // What was ended with the program has not failed.
      delaySeconds: () => (hard.aborted ? 0 : options.delay),
      onError: (error, task) => {
        if (!quiet && task === undefined) errors.write(`unseen: ${oneLine(reasonOf(error))}\n`);
      },
    },
  );
  const stop = (): void => void worker.stop();
  soft.addEventListener('abort', stop, { once: true });
  if (soft.aborted) stop();
  const { done, failed, lost } = await worker.run();
  const said = `${number(done)} done, ${number(failed)} failed${lost > 0 ? `, ${number(lost)} lost` : ''}`;
  await tell(context, { verb: 'work', name, done, failed, lost }, `work ${name}: ${said}`);
  if (soft.aborted) throw new Interrupted();
  return failed + lost > 0 ? Exit.Partial : Exit.Done;
}
