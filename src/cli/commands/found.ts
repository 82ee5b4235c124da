import { DataLostError, NotFoundError, type Filter, type UnseenClient, type VisitedSet } from '#client';
import { Ending, Exit, UsageError } from '../ending.js';
import { show } from '../../errors/show.js';

export interface FoundSet {
  readonly kind: 'visited set';
  readonly handle: VisitedSet;
  readonly description: Awaited<ReturnType<VisitedSet['describe']>>;
}

export interface FoundFilter {
  readonly kind: 'filter';
  readonly handle: Filter;
  readonly description: Awaited<ReturnType<Filter['describe']>>;
}

export type Found = FoundSet | FoundFilter;

/** Finds a visited set or filter by name, since both share one namespace. Throws an Ending if neither exists. */
export async function find(client: UnseenClient, name: string): Promise<Found> {
  const set = client.visitedSet(name);
  try {
    const description = await set
      .describe()
      .catch((error: unknown) => listed(error, client.visitedSets(), name));
    return { kind: 'visited set', handle: set, description };
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
  const filter = client.filter(name);
  try {
    const description = await filter
      .describe()
      .catch((error: unknown) => listed(error, client.filters(), name));
    return { kind: 'filter', handle: filter, description };
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    throw new Ending(
      Exit.Refused,
      `no visited set or filter is called ${show(name)}; create it with unseen create`,
    );
  }
}

/** If data is lost, the description that lists have. Otherwise, or if no list has the name, throws the error. */
async function listed<T extends { readonly name: string }>(
  error: unknown,
  list: AsyncGenerator<T>,
  name: string,
): Promise<T> {
  if (error instanceof DataLostError) for await (const one of list) if (one.name === name) return one;
  throw error;
}

/** Finds a visited set by name. Throws UsageError if it is a filter. */
export async function findSet(client: UnseenClient, name: string, verb: string): Promise<FoundSet> {
  const found = await find(client, name);
  if (found.kind === 'visited set') return found;
  throw new UsageError(`${verb} works on visited sets only, and ${show(name)} is a filter`);
}

/** Finds a filter by name. Throws UsageError if it is a visited set. */
export async function findFilter(client: UnseenClient, name: string, verb: string): Promise<FoundFilter> {
  const found = await find(client, name);
  if (found.kind === 'filter') return found;
  throw new UsageError(`${verb} works on filters only, and ${show(name)} is a visited set`);
}
