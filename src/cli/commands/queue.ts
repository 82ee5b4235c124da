import type { QueuedUrl } from '#client';
import { Exit, UsageError } from '../ending.js';
import { counted, number } from '../terminal/progress.js';
import { tell, type Context } from './context.js';
import { findSet } from './found.js';

/** Selects URLs that match all members. The service checks the values. */
export interface SelectionOptions {
  readonly state?: QueuedUrl['state'];
  readonly host?: string;
  readonly prefix?: string;
}

export interface DropOptions extends SelectionOptions {
  readonly all?: true;
  readonly forget?: true;
  readonly dryRun?: true;
}

/** Prints a line for each URL in the queue. */
export async function listQueue(
  context: Context,
  name: string,
  { limit = Infinity, ...selection }: SelectionOptions & { readonly limit?: number },
): Promise<Exit> {
  const { handle } = await findSet(context.client, name, 'queue list');
  const pageSize = Math.min(limit, 1_000);
  let listed = 0;
  for await (const url of handle.queuedUrls({ ...selection, pageSize, signal: context.interruption.soft })) {
    await tell(context, url, lineOf(url));
    if (++listed === limit) break;
  }
  return Exit.Done;
}

/** Drops URLs from the queue. */
export async function dropQueued(
  context: Context,
  name: string,
  { all, forget, dryRun, ...selection }: DropOptions,
): Promise<Exit> {
  if (!all && Object.keys(selection).length === 0)
    throw new UsageError('queue drop needs --state, --host or --prefix, or --all for the whole queue');
  const { handle } = await findSet(context.client, name, 'queue drop');
  const asked = { ...selection, ...(all && { all }), ...(forget && { forget }), ...(dryRun && { dryRun }) };
  const counts = await handle.dropQueued(asked, { signal: context.interruption.soft });
  const { matched, dropped, forgotten } = counts;
  const after = forgotten === undefined ? 'but not from the visited set' : `and forgot ${number(forgotten)}`;
  const line = dryRun
    ? `queue drop ${name} would drop ${counted(matched, 'URL')}; nothing was changed`
    : `queue drop ${name}: dropped ${counted(dropped, 'URL')} from the queue, ${after}`;
  await tell(context, { verb: 'queue drop', name, ...(dryRun && { dryRun }), ...counts }, line);
  return Exit.Done;
}

function lineOf({ url, state, attempt, queuedAt, dueAt, host, reason }: QueuedUrl): string {
  const more = [
    queuedAt === undefined ? [] : [`queued ${queuedAt}`],
    dueAt === undefined ? [] : [`due ${dueAt}`],
    host === undefined ? [] : [`host ${host}`],
    reason === undefined ? [] : [`reason: ${reason}`],
  ];
  return [url, state, `leased ${number(attempt)} times`, ...more.flat()].join('  ');
}
