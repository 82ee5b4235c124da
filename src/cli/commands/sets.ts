import type { CreateFilter, CreateVisitedSet, PerHost, PlanOptions, Queue, UrlProfile } from '#client';
import { Exit, UsageError } from '../ending.js';
import { show } from '../../errors/show.js';
import { bytes, counted, number } from '../terminal/progress.js';
import { tell, type Context } from './context.js';
import { find, type Found } from './found.js';

export interface CreateOptions {
  readonly capacity: number;
  readonly errorRate?: number;
  /** A filter's type. Absent for a visited set. */
  readonly type?: CreateFilter['type'];
  readonly semantics?: NonNullable<CreateFilter['semantics']>;
  readonly growth?: NonNullable<CreateFilter['growth']>;
  /** A name, or rules as JSON. */
  readonly urlProfile?: string;
  readonly maxAttempts?: number;
  readonly maxAge?: number;
  /** Whether the set gets `perHost`. Any limit on hosts implies it. */
  readonly perHost?: boolean;
  /** In seconds. */
  readonly perHostDelay?: number;
  readonly perHostLeased?: number;
  readonly perHostUrls?: number;
}

export async function create(context: Context, name: string, options: CreateOptions): Promise<Exit> {
  const { type, semantics, urlProfile, maxAttempts, maxAge, capacity, errorRate, growth } = options;
  const perHost = perHostOf(options);
  const others = { capacity, ...(growth !== undefined && { growth }) };
  const { client } = context;
  if (type !== undefined) {
    if ([urlProfile, maxAttempts, maxAge, perHost].some((option) => option !== undefined))
      throw new UsageError(
        '--url-profile, --max-attempts, --max-age and --per-host apply to visited sets only: leave them out with --type',
      );
    if (errorRate === undefined) throw new UsageError('a filter needs --error-rate');
    const filter = { ...others, type, errorRate, ...(semantics !== undefined && { semantics }) };
    const made = await client.filter(name).create(filter);
    await tell(context, made, `filter ${name}: ${sizes(made)}`);
    return Exit.Done;
  }
  if (semantics !== undefined) throw new UsageError('--semantics applies to filters only; add --type');
  const set: Omit<CreateVisitedSet, 'name'> = {
    ...others,
    ...(errorRate !== undefined && { errorRate }),
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(maxAge !== undefined && { maxAgeSeconds: maxAge }),
    ...(perHost && { perHost }),
    ...(urlProfile !== undefined && { urlProfile: profileIn(urlProfile) }),
  };
  const made = await client.visitedSet(name).create(set);
  await tell(context, made, `visited set ${name}: ${sizes(made)}`);
  return Exit.Done;
}

/** The limits for hosts, or undefined for a set without `perHost`. */
function perHostOf({
  perHost,
  perHostDelay: delaySeconds,
  perHostLeased: maxLeased,
  perHostUrls: maxUrls,
}: CreateOptions): PerHost | undefined {
  const limits = {
    ...(delaySeconds !== undefined && { delaySeconds }),
    ...(maxLeased !== undefined && { maxLeased }),
    ...(maxUrls !== undefined && { maxUrls }),
  };
  return perHost || Object.keys(limits).length > 0 ? limits : undefined;
}

/** Parses the rules. The service checks a name. */
function profileIn(text: string): 'safe' | UrlProfile {
  if (!text.trimStart().startsWith('{')) return text as 'safe';
  try {
    return JSON.parse(text) as UrlProfile;
  } catch {
    throw new UsageError(`--url-profile must be a name or a JSON object, not ${show(text)}`);
  }
}

function sizes({ capacity, errorRate, memoryBytes }: Found['description']): string {
  return `${counted(capacity, 'item')} at an error rate of ${errorRate}, ${bytes(memoryBytes)}`;
}

type Whole = Extract<Found['description'], { readonly items: number }>;

/** Prints a line for each visited set, then for each filter. */
export async function list(context: Context): Promise<Exit> {
  const { client } = context;
  for await (const one of client.visitedSets()) await tellOne(context, 'visited set', one);
  for await (const one of client.filters()) await tellOne(context, 'filter', one);
  return Exit.Done;
}

async function tellOne(context: Context, kind: Found['kind'], one: Found['description']): Promise<void> {
  const { name, errorRate, memoryBytes } = one;
  const held = 'items' in one ? fillOf(one) : 'its data is lost';
  const queued = 'queue' in one ? `  ${queueOf(one.queue)}` : '';
  const line = `${name}  ${kind}  ${held}  error rate ${errorRate}  ${bytes(memoryBytes)}${queued}`;
  await tell(context, { kind, ...one }, line);
}

function queueOf({ waiting, scheduled }: Queue): string {
  return `${number(waiting)} waiting${scheduled > 0 ? `, ${number(scheduled)} scheduled` : ''}`;
}

/** The number of items and the capacity, in all layers. */
function fillOf({ items, capacity, layers }: Whole): string {
  if (layers.length === 1) return `${number(items)} of ${counted(capacity, 'item')}`;
  const grown = layers.reduce((sum, layer) => sum + layer.capacity, 0);
  return `${number(items)} of ${number(grown)} items (grown from ${number(capacity)})`;
}

/** Prints all members of a description, one per line. */
export async function showOne(context: Context, name: string): Promise<Exit> {
  const { output, json, quiet, client } = context;
  const { kind, description } = await find(client, name);
  if (quiet) return Exit.Done;
  if (json) {
    await output.json({ kind, ...description });
    return Exit.Done;
  }
  for (const [member, value] of Object.entries({ kind, ...description }) as [string, unknown][]) {
    await output.line(`${member}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  }
  return Exit.Done;
}

/** Runs `clear` and `drop`. */
export async function empty(
  context: Context,
  verb: 'clear' | 'drop',
  name: string,
  { dryRun }: { readonly dryRun?: boolean },
): Promise<Exit> {
  const { kind, handle, description } = await find(context.client, name);
  const items = 'items' in description ? description.items : undefined;
  const held = `${items === undefined ? 'data lost' : counted(items, 'item')}, ${bytes(description.memoryBytes)}`;
  const done = verb === 'clear' ? 'cleared' : 'dropped';
  if (dryRun) {
    await tell(
      context,
      { verb, name, dryRun: true, items },
      `would ${verb === 'clear' ? 'clear' : 'drop'} ${kind} ${name} (${held}); nothing was changed`,
    );
    return Exit.Done;
  }
  await (verb === 'clear' ? handle.clear() : handle.drop());
  await tell(context, { verb, name, items }, `${done} ${kind} ${name} (${held})`);
  return Exit.Done;
}

export async function plan(
  context: Context,
  {
    maxAge,
    type,
    perHost,
    ...options
  }: Partial<Pick<PlanOptions, 'type'>> &
    Omit<PlanOptions, 'type' | 'maxAgeSeconds' | 'perHost'> & {
      readonly maxAge?: number;
      readonly perHost?: true;
    },
): Promise<Exit> {
  const planned = await context.client.plan({
    // The defaults for `create`: visited sets grow, and filters don't.
    ...(type === undefined && { growth: 'auto' }),
    type: type ?? 'counting',
    ...options,
    ...(maxAge !== undefined && { maxAgeSeconds: maxAge }),
    ...(perHost && { perHost: {} }),
  });
  const { memoryBytes, geometry } = planned;
  await tell(context, planned, `${bytes(memoryBytes)}, ${geometry.hashes} hashes per item`);
  return Exit.Done;
}
