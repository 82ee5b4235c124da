import type { UnseenClient } from '#client';
import type { Entry } from '../../sets.js';

const PAGE = 500;

/** All sets and filters that the caller may see, by name. */
export async function loadAll(client: UnseenClient, signal: AbortSignal): Promise<Entry[]> {
  const entries: Entry[] = [];
  const options = { pageSize: PAGE, signal };
  for await (const described of client.visitedSets(options)) entries.push({ kind: 'sets', described });
  for await (const described of client.filters(options)) entries.push({ kind: 'filters', described });
  return entries.sort((a, b) => (a.described.name < b.described.name ? -1 : 1));
}
