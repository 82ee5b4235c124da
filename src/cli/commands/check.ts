import { Exit } from '../ending.js';
import type { Context } from './context.js';
import { feed, sourcesOf, type FeedOptions } from './feed.js';
import { find } from './found.js';
import { checking, wordOf } from './line-verb.js';

export interface CheckOptions extends FeedOptions {
  /** Prints the seen entries instead of the unseen ones. */
  readonly seen?: boolean;
}

/** Prints the unseen entries, or the seen ones, in order, like grep. */
export async function check(
  context: Context,
  name: string,
  names: readonly string[],
  options: CheckOptions,
): Promise<Exit> {
  const { output, json, quiet, client } = context;
  const found = await find(client, name);
  const verb = checking(found);
  const wanted = options.seen === true ? 'seen' : 'unseen';
  const one = found.kind === 'filter' ? 'item' : 'url';
  const shown = (item: string): string => (json ? JSON.stringify({ [one]: item, result: wanted }) : item);
  let printed = 0;
  const { complained } = await feed(context, {
    source: await sourcesOf(context, names, options),
    ...{ label: `check ${name}`, verb, parallel: options.parallel },
    took: async ({ entries, results }) => {
      const some = entries.filter((_, i) => wordOf(verb, results[i]) === wanted) as string[];
      printed += some.length;
      if (!quiet && some.length > 0) await output.write(`${some.map(shown).join('\n')}\n`);
    },
  });
  return printed === 0 || complained ? Exit.Partial : Exit.Done;
}
