import { Interrupted, UsageError, type Exit } from '../ending.js';
import { show } from '../../errors/show.js';
import { Job } from '../jobs/job.js';
import { RedisSet } from '../sources/redis-set.js';
import { counted, number, time } from '../terminal/progress.js';
import { partialOr, withAll, words } from './change.js';
import { tell, type Context } from './context.js';
import { feed } from './feed.js';
import { find, type Found } from './found.js';
import { adding, type LineVerb } from './line-verb.js';

export interface ImportSetOptions {
  /** A redis:// or rediss:// URL. */
  readonly redis: string;
  readonly key: string;
  /** Number of parallel calls. */
  readonly parallel: number;
}

/** Adds the members of a Redis SET to a visited set as visited URLs, or to a filter as items. */
export async function importSet(context: Context, name: string, options: ImportSetOptions): Promise<Exit> {
  const { redis, key, parallel } = options;
  const found = await find(context.client, name);
  const verb = importing(found, name);
  const members = await RedisSet.open(redis, key, context.interruption.soft);
  try {
    const { generation } = found.description;
    // Each member counts once, even if it is sent again, so starting over is safe.
    const job = await Job.open({ verb: 'import-set', name, generation, about: [key], keeping: undefined });
    const label = `import-set ${name}`;
    const { seconds } = await feed(context, { source: members, label, verb, parallel, job }).catch(
      (error: unknown) => {
        if (!(error instanceof Interrupted)) throw error;
        throw new Interrupted(
          `interrupted after ${counted(job.checkpoint.entries, 'member')}; run the same command again to continue`,
        );
      },
    );
    const grown = (await members.sizeNow()) - members.size;
    const counts = withAll(
      ['new', 'seen', ...(found.kind === 'filter' ? [] : ['invalid'])],
      job.checkpoint,
      verb,
    );
    const again =
      grown > 0
        ? `; ${number(grown)} members were added during the import: run it again when nothing writes to the SET`
        : '';
    const told = { verb: 'import-set', name, counts, grown, seconds: Number(seconds.toFixed(3)) };
    await tell(context, told, `${label}: ${words(counts)} (${time(seconds)})${again}`);
    return partialOr(counts);
  } finally {
    members.close();
  }
}

function importing(found: Found, name: string): LineVerb {
  if (found.kind === 'visited set') return { send: found.handle.visit };
  const { description } = found;
  if ('semantics' in description && description.semantics === 'multiset')
    throw new UsageError(
      `${show(name)} is a multiset, which would count repeated members; create a counting filter with --semantics set`,
    );
  return adding(found.handle);
}
