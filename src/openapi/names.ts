import type { OpenAPIObject } from '@nestjs/swagger';

/** Operation ids by controller and method, named like methods of a client. Each route must have one. */
const OPERATION_IDS: Readonly<Record<string, string>> = {
  VisitedSetsController_create: 'createVisitedSet',
  VisitedSetsController_list: 'listVisitedSets',
  VisitedSetsController_get: 'getVisitedSet',
  VisitedSetsController_counters: 'getVisitedSetCounters',
  VisitedSetsController_drop: 'dropVisitedSet',
  VisitedSetsController_clear: 'clearVisitedSet',
  VisitedSetHistoryController_get: 'getVisitedSetHistory',
  VisitedSetTransferController_export: 'exportVisitedSet',
  VisitedSetTransferController_import: 'importVisitedSet',
  UrlsController_discover: 'discoverUrls',
  UrlsController_visit: 'visitUrls',
  UrlsController_check: 'checkUrls',
  UrlsController_forget: 'forgetUrls',
  UrlsController_explain: 'explainUrls',
  QueueController_lease: 'leaseUrls',
  QueueController_ack: 'ackUrls',
  QueueController_release: 'releaseUrls',
  QueueController_extend: 'extendLeases',
  QueueController_deadLetters: 'listDeadLetters',
  QueueController_putBack: 'putBackDeadLetters',
  QueueController_purge: 'purgeDeadLetters',
  QueueController_urls: 'listQueuedUrls',
  QueueController_drop: 'dropQueuedUrls',
  HostsController_list: 'listHosts',
  HostsController_get: 'getHost',
  HostsController_set: 'setHost',
  HostsController_drop: 'dropHost',
  VisitedSetSyncsController_open: 'openVisitedSetSync',
  VisitedSetSyncsController_get: 'getVisitedSetSync',
  VisitedSetSyncsController_keep: 'keepUrls',
  VisitedSetSyncsController_commit: 'commitVisitedSetSync',
  VisitedSetSyncsController_abandon: 'abandonVisitedSetSync',
  FiltersController_create: 'createFilter',
  FiltersController_list: 'listFilters',
  FiltersController_get: 'getFilter',
  FiltersController_counters: 'getFilterCounters',
  FiltersController_drop: 'dropFilter',
  FiltersController_clear: 'clearFilter',
  FilterHistoryController_get: 'getFilterHistory',
  FilterTransferController_export: 'exportFilter',
  FilterTransferController_import: 'importFilter',
  PlanController_plan: 'planFilter',
  ItemsController_add: 'addItems',
  ItemsController_check: 'checkItems',
  ItemsController_remove: 'removeItems',
  ItemsController_count: 'countItems',
  ItemsController_explain: 'explainItems',
  FilterSyncsController_open: 'openFilterSync',
  FilterSyncsController_get: 'getFilterSync',
  FilterSyncsController_keep: 'keepItems',
  FilterSyncsController_commit: 'commitFilterSync',
  FilterSyncsController_abandon: 'abandonFilterSync',
  HealthController_health: 'getHealth',
  HealthController_ready: 'getReadiness',
  MetricsController_scrape: 'getMetrics',
  KeysController_create: 'createKey',
  KeysController_list: 'listKeys',
  KeysController_rotate: 'rotateKey',
  KeysController_revoke: 'revokeKey',
  MeController_me: 'getMe',
};

/** The operation id for a controller's method. Throws if it has none. */
export function operationId(controller: string, method: string): string {
  const id = OPERATION_IDS[`${controller}_${method}`];
  if (id === undefined) throw new Error(`the route ${controller}.${method} has no operation id`);
  return id;
}

/** Groups of routes, in reading order. */
export const TAGS = [
  { name: 'Visited sets', description: 'Sets of URLs that a crawler has seen' },
  { name: 'URLs', description: 'Visit, check and forget URLs in a visited set' },
  { name: 'Queue', description: 'URLs that wait to be fetched' },
  { name: 'Hosts', description: 'Hosts in a visited set with `perHost`' },
  { name: 'Syncs', description: 'Keep the items in a list, and forget all others' },
  { name: 'Filters', description: 'Filters of strings' },
  { name: 'Items', description: 'Add, check, remove and count items in a filter' },
  { name: 'Operation', description: 'Health and metrics' },
  { name: 'Keys', description: 'API keys and permissions' },
] as const;

/** Classes whose names without their ending would be ambiguous. */
const RENAMED: Readonly<Record<string, string>> = { PlanDto: 'PlanOptions' };
const ENDING = /(?:Dto|View)$/;
const REFERENCE = '#/components/schemas/';

/** Removes the endings from a document's schema names. The code needs them only to distinguish its classes. */
export function withPlainNames(document: OpenAPIObject): OpenAPIObject {
  const names = new Map<string, string>();
  for (const name of Object.keys(document.components?.schemas ?? {})) {
    const plain = RENAMED[name] ?? name.replace(ENDING, '');
    if ([...names.values()].includes(plain)) throw new Error(`two schemas would have the name ${plain}`);
    names.set(name, plain);
  }
  const renamed = renameIn(document, names) as OpenAPIObject;
  const schemas = Object.entries(renamed.components?.schemas ?? {});
  return {
    ...renamed,
    components: {
      ...renamed.components,
      schemas: Object.fromEntries(schemas.map(([name, schema]) => [names.get(name) ?? name, schema])),
    },
  };
}

function renameIn(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string' && value.startsWith(REFERENCE)) {
    const name = value.slice(REFERENCE.length);
    return REFERENCE + (names.get(name) ?? name);
  }
  if (Array.isArray(value)) return value.map((one) => renameIn(one, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, renameIn(one, names)]));
}

/** The paths in the order of their tags. */
export function inReadingOrder(paths: OpenAPIObject['paths']): OpenAPIObject['paths'] {
  const order = TAGS.map(({ name }) => name as string);
  const placeOf = (item: (typeof paths)[string]): number => {
    const { tags: [tag = ''] = [] } = item.get ?? item.post ?? item.delete ?? {};
    const place = order.indexOf(tag);
    if (place < 0) throw new Error(`there is no group of routes ${tag}`);
    return place;
  };
  return Object.fromEntries(Object.entries(paths).sort(([, a], [, b]) => placeOf(a) - placeOf(b)));
}
