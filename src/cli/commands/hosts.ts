import { NotFoundError, type Host, type HostSettings, type VisitedSet } from '#client';
import { Exit } from '../ending.js';
import { counted, number } from '../terminal/progress.js';
import { tell, type Context } from './context.js';
import { findSet } from './found.js';

/** A host's settings. They replace all earlier ones. */
export interface HostOptions {
  /** In seconds. */
  readonly delay?: number;
  readonly leased?: number;
  readonly urls?: number;
  /** In ISO 8601. The service checks the time. */
  readonly blockedUntil?: string;
}

/** Prints a line for each host. */
export async function listHosts(context: Context, name: string): Promise<Exit> {
  const { handle } = await findSet(context.client, name, 'hosts');
  for await (const host of handle.hosts.list({ pageSize: 1_000 })) await tell(context, host, lineOf(host));
  return Exit.Done;
}

export async function setHost(
  context: Context,
  name: string,
  host: string,
  { delay, leased, urls, blockedUntil }: HostOptions,
): Promise<Exit> {
  const { handle } = await findSet(context.client, name, 'hosts set');
  const settings: HostSettings = {
    ...(delay !== undefined && { delaySeconds: delay }),
    ...(leased !== undefined && { maxLeased: leased }),
    ...(urls !== undefined && { maxUrls: urls }),
    ...(blockedUntil !== undefined && { blockedUntil }),
  };
  const made = await handle.hosts.set(host, settings);
  await tell(context, made, lineOf(made));
  return Exit.Done;
}

/** Drops a host's URLs from the queue. */
export async function dropHost(
  context: Context,
  name: string,
  host: string,
  { dryRun }: { readonly dryRun?: boolean },
): Promise<Exit> {
  const { handle } = await findSet(context.client, name, 'hosts drop');
  if (dryRun) {
    const held = await heldBy(handle, host);
    const line = `hosts drop ${name} ${host} would drop ${counted(held, 'URL')}; nothing was changed`;
    await tell(context, { verb: 'hosts drop', name, host, dryRun: true, dropped: held }, line);
    return Exit.Done;
  }
  const dropped = await handle.hosts.drop(host);
  const line = `hosts drop ${name} ${host}: dropped ${counted(dropped, 'URL')} from the queue, but not from the visited set`;
  await tell(context, { verb: 'hosts drop', name, host, dropped }, line);
  return Exit.Done;
}

/** How many of a host's URLs are in the queue. */
async function heldBy({ hosts }: VisitedSet, host: string): Promise<number> {
  try {
    const { waiting, leased, delayed, scheduled, dead } = await hosts.get(host);
    return waiting + leased + delayed + scheduled + dead;
  } catch (error) {
    if (error instanceof NotFoundError && error.code === 'HOST_NOT_FOUND') return 0;
    throw error;
  }
}

function lineOf({
  host,
  waiting,
  leased,
  delayed,
  scheduled,
  dead,
  found,
  nextAt,
  ...settings
}: Host): string {
  const { blockedUntil, delaySeconds, maxLeased, maxUrls } = settings;
  const counts = Object.entries({ waiting, leased, delayed, scheduled, dead, found })
    .filter(([, count]) => count !== undefined)
    .map(([word, count = 0]) => `${number(count)} ${word}`);
  const more = [
    nextAt === undefined ? [] : [`next ${nextAt}`],
    blockedUntil === undefined ? [] : [`blocked until ${blockedUntil}`],
    delaySeconds === undefined ? [] : [`delay ${delaySeconds} s`],
    maxLeased === undefined ? [] : [`at most ${number(maxLeased)} leased`],
    maxUrls === undefined ? [] : [`at most ${counted(maxUrls, 'URL')}`],
  ].flat();
  return [host, ...counts, ...more].join('  ');
}
