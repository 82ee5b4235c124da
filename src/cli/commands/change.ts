import type { AddOptions, Checkpoint, DiscoverOptions, Priority } from '#client';
import { Exit, Interrupted } from '../ending.js';
import { Job, type Counts } from '../jobs/job.js';
import { counted, number, time } from '../terminal/progress.js';
import { tell, type Context } from './context.js';
import { goOn } from './go-on.js';
import { feed, identityOf, keepingOf, sourcesOf, type Fed, type FeedOptions, type JobFlags } from './feed.js';
import { findFilter, findSet, type Found } from './found.js';
import { abandon } from './own-sync.js';
import { adding, checking, countsIn, REFUSED, type LineVerb } from './line-verb.js';

export type ChangingVerb = 'visit' | 'discover' | 'forget' | 'add' | 'remove';

export interface ChangeOptions extends FeedOptions, JobFlags {
  readonly dryRun?: boolean;
  /** For `discover`. */
  readonly priority?: Priority;
  /** For `discover`, in seconds. */
  readonly delay?: number;
  /** For `add`. */
  readonly onlyAbsent?: boolean;
}

/** The verdicts that the summary shows, even if no entry got them. */
const VERDICTS: Readonly<Record<ChangingVerb, readonly string[]>> = {
  visit: ['new', 'seen', 'invalid'],
  discover: ['new', 'seen', 'limited', 'invalid'],
  forget: ['forgotten', 'absent', 'saturated', 'invalid'],
  add: ['new', 'seen'],
  remove: ['removed', 'absent', 'saturated'],
};

/** Leaves out `limited` if the set has no `perHost`, because only `perHost` limits URLs. */
function verdictsOf(verb: ChangingVerb, { description }: Found): readonly string[] {
  return VERDICTS[verb].filter((verdict) => verdict !== 'limited' || 'perHost' in description);
}

/** `visit`, `discover`, `forget`, `add` and `remove`. */
export async function change(
  context: Context,
  verb: ChangingVerb,
  name: string,
  sources: readonly string[],
  options: ChangeOptions,
): Promise<Exit> {
  const callOptions = callOptionsOf(options);
  const [found, lineVerb] = await changing(context, verb, name, callOptions);
  if (options.dryRun) return tryOut(context, verb, found, sources, options);
  const { generation } = found.description;
  const about = [context.url, identityOf(sources), options.format, ...Object.entries(callOptions).flat()];
  const job = await Job.open({
    verb,
    name,
    generation,
    about,
    keeping: keepingOf(sources, options, context),
    abandon: (former) => abandon(context.client, found, former),
  });
  let seconds: number;
  try {
    const label = `${verb} ${name}`;
    const attempt = async (): Promise<Fed> => {
      const source = await sourcesOf(context, sources, options);
      return feed(context, { source, label, verb: lineVerb, parallel: options.parallel, job });
    };
    ({ seconds } = await goOn(context, {
      label,
      job,
      sources,
      attempt,
      isRepeatable: !countsCopies(found, callOptions),
    }));
  } catch (error) {
    const isLeft = job.leave();
    throw error instanceof Interrupted ? interrupted(job, isLeft) : error;
  }
  job.finish();
  const counts = withAll(verdictsOf(verb, found), job.checkpoint, lineVerb);
  const told = { verb, name, counts, seconds: Number(seconds.toFixed(3)) };
  await tell(context, told, `${verb} ${name}: ${words(counts)} (${time(seconds)})`);
  return partialOr(counts);
}

type CallOptions = Pick<DiscoverOptions, 'priority' | 'delaySeconds'> & Pick<AddOptions, 'onlyAbsent'>;

/** The options of the call itself. */
function callOptionsOf({ priority, delay, onlyAbsent }: ChangeOptions): CallOptions {
  return {
    ...(priority !== undefined && { priority }),
    ...(delay !== undefined && { delaySeconds: delay }),
    ...(onlyAbsent !== undefined && { onlyAbsent }),
  };
}

async function changing(
  { client }: Context,
  verb: ChangingVerb,
  name: string,
  callOptions: CallOptions,
): Promise<[Found, LineVerb]> {
  if (verb === 'add' || verb === 'remove') {
    const found = await findFilter(client, name, verb);
    return [found, verb === 'add' ? adding(found.handle, callOptions) : { send: found.handle.remove }];
  }
  const found = await findSet(client, name, verb);
  const { visit, discover, forget } = found.handle;
  // The command line sends URLs without payloads.
  const plain = discover as typeof visit;
  if (verb === 'discover') return [found, { send: (urls, call) => plain(urls, { ...callOptions, ...call }) }];
  return [found, { send: verb === 'visit' ? visit : forget }];
}

/** True if each added item counts as a copy. */
function countsCopies({ description }: Found, { onlyAbsent = false }: CallOptions): boolean {
  return 'semantics' in description && description.semantics === 'multiset' && !onlyAbsent;
}

/** `isLeft` is true if the job left a checkpoint. */
export function interrupted(job: Job, isLeft: boolean): Interrupted {
  const far = `interrupted after ${counted(job.checkpoint.entries, 'line')}`;
  return new Interrupted(
    isLeft
      ? `${far}; run the same command again to continue`
      : `${far}; without a checkpoint the job cannot continue`,
  );
}

/** Reports the changes that the command would make. Only sends checks. */
async function tryOut(
  context: Context,
  verb: ChangingVerb,
  found: Found,
  names: readonly string[],
  options: ChangeOptions,
): Promise<Exit> {
  const { name } = found.handle;
  const gone = verb === 'forget' ? 'forgotten' : 'removed';
  const { checkpoint } = await feed(context, {
    source: await sourcesOf(context, names, options),
    ...{ label: `${verb} ${name} (dry run)`, verb: checking(found), parallel: options.parallel },
  });
  const { seen = 0, unseen = 0, ...others } = countsIn(checking(found), checkpoint.counts);
  const would = { ...checkpoint, counts: { [gone]: seen, absent: unseen, ...others } };
  const counts = withAll([gone, 'absent'], would);
  const line = `${verb} ${name} would be: ${words(counts)}; nothing was changed`;
  await tell(context, { verb, name, dryRun: true, counts }, line);
  return partialOr(counts);
}

/** The count of each verdict, 0 included, and the number of refused entries. */
export function withAll(
  verdicts: readonly string[],
  { counts: found, refused }: Pick<Checkpoint, 'counts' | 'refused'>,
  verb?: LineVerb,
): Counts {
  const counts: Counts = Object.fromEntries(verdicts.map((verdict) => [verdict, 0]));
  for (const [verdict, count] of Object.entries(verb ? countsIn(verb, found) : found))
    counts[verdict] = count;
  counts[REFUSED] = refused;
  return counts;
}

export function words(counts: Counts): string {
  const shown = Object.entries(counts).filter(([word, count]) => word !== REFUSED || count > 0);
  return shown.map(([word, count]) => `${number(count)} ${word}`).join(', ');
}

export function partialOr(counts: Counts): Exit {
  return refusedIn(counts) > 0 ? Exit.Partial : Exit.Done;
}

/** Number of entries that were not accepted. */
export function refusedIn(counts: Counts): number {
  return (counts.invalid ?? 0) + (counts[REFUSED] ?? 0);
}
