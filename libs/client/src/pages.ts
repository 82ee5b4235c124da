import type { CallOptions } from './batches.js';
import type { Call, Requests } from './requests.js';

/** Options for a list that is read page by page. */
export interface PageOptions extends CallOptions {
  /** Number of entries in one request, 1 to 1,000. Default: 100. */
  readonly pageSize?: number;
}

const PAGE = 100;

/** Reads a list's pages. `query`: its query parameters. */
export async function* pagesOf<Page extends { readonly next?: string }>(
  requests: Requests,
  path: string,
  { pageSize = PAGE, signal }: PageOptions,
  query: NonNullable<Call['query']> = {},
): AsyncGenerator<Page> {
  let cursor: string | undefined;
  do {
    const page: Page = await requests.json<Page>({
      method: 'GET',
      path,
      query: { ...query, limit: pageSize, cursor },
      repeatable: true,
      signal,
    });
    yield page;
    cursor = page.next;
  } while (cursor !== undefined);
}
