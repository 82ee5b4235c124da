// Made from docs/openapi.json by `npm run client:types`.

export type CreateKey = {
  /**
   * For people
   */
  name: string;
  /**
   * write includes read, admin includes write
   */
  scopes: Array<'read' | 'write' | 'admin'>;
  /**
   * Names of filters and visited sets the key is for begin with it; others do not exist for it
   */
  prefix?: string;
  /**
   * Filters and visited sets there may be of the prefix, whoever made them; with a prefix only. Absent: no bound
   */
  maxFilters?: number;
  /**
   * Bytes that they may take together, as their `memoryBytes` say; with a prefix only. Absent: no bound
   */
  maxBytes?: number;
  /**
   * With a time zone; absent: never
   */
  expiresAt?: string;
};

export type NewKey = {
  /**
   * 16 hex digits, a part of the key
   */
  id: string;
  name: string;
  scopes: Array<'read' | 'write' | 'admin'>;
  /**
   * Absent: all names
   */
  prefix?: string;
  /**
   * Absent: no bound
   */
  maxFilters?: number;
  /**
   * Absent: no bound
   */
  maxBytes?: number;
  createdAt: string;
  /**
   * Absent: never
   */
  expiresAt?: string;
  /**
   * The key itself, shown this once
   */
  key: string;
};

export type Usage = {
  filters: number;
  bytes: number;
};

export type ListedKey = {
  /**
   * 16 hex digits, a part of the key
   */
  id: string;
  name: string;
  scopes: Array<'read' | 'write' | 'admin'>;
  /**
   * Absent: all names
   */
  prefix?: string;
  /**
   * Absent: no bound
   */
  maxFilters?: number;
  /**
   * Absent: no bound
   */
  maxBytes?: number;
  createdAt: string;
  /**
   * Absent: never
   */
  expiresAt?: string;
  /**
   * What there is of the prefix now. Absent: all names
   */
  usage?: Usage;
  /**
   * When this instance last let it in; other instances have their own. Absent: not since this one began
   */
  lastUsedAt?: string;
};

export type KeyList = {
  keys: Array<ListedKey>;
};

export type RotateKey = {
  /**
   * For how long the old key is taken beside the new one, unless it ends sooner
   */
  overlapSeconds?: number;
};

export type Me = {
  /**
   * `key:` and the id of a key, `jwt:` and the subject of a token, or `anonymous`
   */
  id: string;
  /**
   * The name given to the key, or the subject of the token
   */
  name: string;
  /**
   * As given: write includes read, admin includes write
   */
  scopes: Array<'read' | 'write' | 'admin'>;
  /**
   * Absent: all names
   */
  prefix?: string;
  /**
   * Until when the credentials are taken. Absent: they do not end by themselves
   */
  expiresAt?: string;
};

export type Health = {
  status: 'ok';
};

export type Ready = {
  status: 'ready';
  /**
   * What an operator should change: eviction, persistence, replicas
   */
  warnings: Array<string>;
};

export type Unready = {
  status: 'unready';
  reason: string;
};

export type CreateFilter = {
  /**
   * 4-bit counters, items can be removed; or bits
   */
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  /**
   * auto: a filter at its capacity goes on in another layer, 2.7 times as large, up to six layers within MAX_FILTER_BYTES; errorRate is that of all together. none: FILTER_FULL at twice the capacity
   */
  growth?: 'auto' | 'none';
  name: string;
  /**
   * set: a second add changes nothing. multiset (counting only): every add counts
   */
  semantics?: 'set' | 'multiset';
};

export type Geometry = {
  segments: number;
  /**
   * Counters a page; all counters of an item lie in one
   */
  pageSize: number;
  /**
   * Counters an item
   */
  hashes: number;
  /**
   * Of new filters 2, SipHash-2-4-128; of those made by version 0.1 for ever 1, murmur3
   */
  hashScheme: number;
  /**
   * Counters of the whole filter
   */
  counters: number;
};

export type Layer = {
  capacity: number;
  items: number;
  /**
   * Share of counters that are not zero
   */
  fill: number;
  /**
   * Its false-positive rate now, estimated from fill
   */
  estimatedErrorRate: number;
  memoryBytes: number;
};

export type Sync = {
  id: string;
  /**
   * open takes lines; committing goes on by itself, and has no way back; the others are over
   */
  state: 'open' | 'committing' | 'committed' | 'abandoned';
  openedAt: string;
  /**
   * What the filter has once it is committed
   */
  capacity: number;
  /**
   * What the filter has once it is committed
   */
  errorRate: number;
  /**
   * Lines taken, those answered invalid or forgotten apart
   */
  listed: number;
  /**
   * How many of them were answered new
   */
  new: number;
  /**
   * Items that a commit would forget, or has forgotten
   */
  wouldForget: number;
  /**
   * Items of the filter; not those that only the list has
   */
  items: number;
  /**
   * Of the layers that it fills; 0 once it is over
   */
  memoryBytes: number;
  /**
   * Why it was abandoned
   */
  reason?: string;
};

export type Filter = {
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  growth: 'auto' | 'none';
  /**
   * Of the first layer
   */
  geometry: Geometry;
  /**
   * Of all layers there are
   */
  memoryBytes: number;
  name: string;
  semantics: 'set' | 'multiset';
  /**
   * Another one after clear, or after delete and create
   */
  generation: string;
  createdAt: string;
  /**
   * Adds answered new, less removals that left the item absent
   */
  items: number;
  /**
   * Share of counters that are not zero
   */
  fill: number;
  /**
   * False-positive rate now, estimated from fill
   */
  estimatedErrorRate: number;
  /**
   * Counters at 15, which never move again
   */
  saturatedCounters: number;
  /**
   * Holds more items than its layers were made for: errorRate is exceeded
   */
  overCapacity: boolean;
  /**
   * One; more if the filter has grown
   */
  layers: Array<Layer>;
  /**
   * Items answered new
   */
  added: number;
  /**
   * Items answered not new
   */
  duplicate: number;
  /**
   * Removals that took place
   */
  removed: number;
  /**
   * Removals that changed nothing
   */
  refused: number;
  /**
   * The one that is open or committing
   */
  sync?: Sync;
};

export type LostFilter = {
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  growth: 'auto' | 'none';
  /**
   * Of the first layer
   */
  geometry: Geometry;
  /**
   * Of all layers there are
   */
  memoryBytes: number;
  name: string;
  semantics: 'set' | 'multiset';
  /**
   * Another one after clear, or after delete and create
   */
  generation: string;
  createdAt: string;
  /**
   * STORE_DATA_LOST for every call but clear and delete
   */
  state: 'lost';
};

export type FilterList = {
  filters: Array<Filter | LostFilter>;
  /**
   * Cursor of the next page; absent on the last
   */
  next?: string;
};

export type LayerCounters = {
  /**
   * Pages of the layer
   */
  pages: number;
  /**
   * How many of them were read: at most 256 of all layers
   */
  sampledPages: number;
  /**
   * How many of the counters in these pages are 0, 1, … 15; of a standard filter, 0 and 1. In a set that ages, what has expired is 0
   */
  values: Array<number>;
};

export type Counters = {
  /**
   * Oldest first, as in the description
   */
  layers: Array<LayerCounters>;
};

export type PlanOptions = {
  /**
   * 4-bit counters, items can be removed; or bits
   */
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  /**
   * auto: a filter at its capacity goes on in another layer, 2.7 times as large, up to six layers within MAX_FILTER_BYTES; errorRate is that of all together. none: FILTER_FULL at twice the capacity
   */
  growth?: 'auto' | 'none';
  /**
   * Visited sets: a URL that was not visited or discovered again for so long is unseen, exact to a thirteenth of it; takes twice the memory. Absent: URLs are seen until they are forgotten
   */
  maxAgeSeconds?: number;
};

export type PlannedLayer = {
  /**
   * Items after which the next one is opened
   */
  capacity: number;
  /**
   * Its share of the error rate
   */
  errorRate: number;
  memoryBytes: number;
};

export type Plan = {
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  growth: 'auto' | 'none';
  /**
   * Of the first layer
   */
  geometry: Geometry;
  /**
   * Of all layers there are
   */
  memoryBytes: number;
  /**
   * Of a visited set that ages
   */
  maxAgeSeconds?: number;
  /**
   * With growth: the layers that it may have, the first included
   */
  plannedLayers?: Array<PlannedLayer>;
};

export type Items = {
  /**
   * At most 10,000 strings of at most 8 KiB (UTF-8), unless set otherwise
   */
  items: Array<string>;
};

export type Booleans = {
  results: Array<boolean>;
};

export type Removals = {
  results: Array<'absent' | 'removed' | 'saturated'>;
};

export type Counts = {
  results: Array<number>;
};

export type ExplainItems = {
  /**
   * At most 100 strings, of at most 65,536 characters together
   */
  items: Array<string>;
};

export type FoundCounter = {
  /**
   * Place in the bytes of the segment: `#index` of BITFIELD with the width that `cell` says
   */
  index: number;
  /**
   * In a set that ages, 0 if it has expired
   */
  value: number;
};

export type LayerFinding = {
  /**
   * From 0, the oldest
   */
  layer: number;
  /**
   * Of the layer
   */
  segment: number;
  /**
   * In the segment
   */
  page: number;
  /**
   * Width of a cell: of a standard filter, a counting one, and a set that ages
   */
  cell: 'u1' | 'u4' | 'u8';
  /**
   * Redis store: the key that has the bytes of the segment
   */
  redisKey?: string;
  /**
   * All its counters are above zero
   */
  claims: boolean;
  /**
   * The k counters of the item
   */
  counters: Array<FoundCounter>;
  /**
   * Set that ages: when the layer claims it no longer, unless it is visited; absent if it does not
   */
  expires?: string;
};

export type ExplainedItem = {
  /**
   * Whether a layer claims it, and it is not hidden. While a sync is open, of what was there before
   */
  answer: 'seen' | 'unseen';
  /**
   * Set that ages: forgotten while others keep its counters alive
   */
  hidden?: boolean;
  /**
   * Oldest first
   */
  layers: Array<LayerFinding>;
  item: string;
};

export type ExplainedItems = {
  /**
   * One per item, in order
   */
  items: Array<ExplainedItem>;
};

export type UrlProfile = {
  /**
   * `safe` drops empty parameters and sorts the others by name; `strict` does neither
   */
  base?: 'safe' | 'strict';
  /**
   * Version of the rules
   */
  version?: 1;
  /**
   * Drops parameters that only track visitors, by a versioned list: `utm_*`, `gclid`, `fbclid` …
   */
  stripTracking?: boolean;
  /**
   * Version of the list of `stripTracking`, the latest if absent; only together with it
   */
  trackingVersion?: 1;
  /**
   * Drops parameters of these exact names
   */
  dropParams?: Array<string>;
  /**
   * Drops all other parameters
   */
  keepParams?: Array<string>;
  /**
   * Drops session ids from path and query, where the value has the shape of a session
   */
  stripSession?: boolean;
  /**
   * Reads the query as a form: `+` is `%20`, `%2C` is `,`, `?a` is `?a=`
   */
  formQuery?: boolean;
  /**
   * Sorts parameters of one name by their values; not with `strict`
   */
  sortValues?: boolean;
  /**
   * Drops parameters without a value: `a=`, with `formQuery` also `a`
   */
  dropBlank?: boolean;
  /**
   * `/a/` is `/a`
   */
  stripTrailingSlash?: boolean;
  /**
   * `www.a.b` is `a.b`
   */
  stripWww?: boolean;
  /**
   * http is https
   */
  ignoreScheme?: boolean;
  /**
   * `/a/index.html` is `/a/`, and so are other names of such pages
   */
  stripDirIndex?: boolean;
  /**
   * `/a//b` is `/a/b`
   */
  collapseSlashes?: boolean;
  /**
   * `user:password@a.b` is `a.b`
   */
  stripUserinfo?: boolean;
  /**
   * Drops the fragments `#!…` and `#/…`, too
   */
  dropFragments?: boolean;
  /**
   * Keeps every fragment that is not empty; not with `dropFragments`
   */
  keepFragments?: boolean;
};

export type CreateVisitedSet = {
  name: string;
  capacity: number;
  errorRate?: number;
  /**
   * auto: a filter at its capacity goes on in another layer, 2.7 times as large, up to six layers within MAX_FILTER_BYTES; errorRate is that of all together. none: FILTER_FULL at twice the capacity
   */
  growth?: 'auto' | 'none';
  /**
   * Visited sets: a URL that was not visited or discovered again for so long is unseen, exact to a thirteenth of it; takes twice the memory. Absent: URLs are seen until they are forgotten
   */
  maxAgeSeconds?: number;
  /**
   * Which URLs are one: a base profile by its name, or an object with rules that are off otherwise
   */
  urlProfile?: 'safe' | 'strict' | UrlProfile;
  /**
   * A URL that was leased so often and comes back is a dead letter; without it, it may come back for ever
   */
  maxAttempts?: number;
};

export type Expiring = {
  /**
   * When these URLs are unseen again, unless they are visited
   */
  at: string;
  items: number;
};

export type Age = {
  /**
   * Number of the present epoch, since 1970
   */
  epoch: number;
  /**
   * Length of an epoch, a thirteenth of the age
   */
  epochSeconds: number;
  /**
   * URLs by the end of the last epoch in which they are seen, estimated as items is
   */
  expiring: Array<Expiring>;
  /**
   * URLs that were forgotten while others keep all their counters alive: kept exactly until they expire
   */
  hidden: number;
};

export type Queue = {
  /**
   * URLs that can be leased now
   */
  waiting: number;
  /**
   * URLs hidden by a lease
   */
  leased: number;
  /**
   * URLs released with a delay
   */
  delayed: number;
  /**
   * Dead letters
   */
  dead: number;
  /**
   * How many of all these were forgotten, at most: they count until the queue comes to them
   */
  forgotten: number;
  /**
   * Seconds since the URL at the head of the queue was discovered; absent if none waits
   */
  oldestSeconds?: number;
};

export type VisitedSet = {
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  growth: 'auto' | 'none';
  /**
   * Of the first layer
   */
  geometry: Geometry;
  /**
   * Of all layers there are
   */
  memoryBytes: number;
  name: string;
  semantics: 'set' | 'multiset';
  /**
   * Another one after clear, or after delete and create
   */
  generation: string;
  createdAt: string;
  /**
   * Adds answered new, less removals that left the item absent
   */
  items: number;
  /**
   * Share of counters that are not zero
   */
  fill: number;
  /**
   * False-positive rate now, estimated from fill
   */
  estimatedErrorRate: number;
  /**
   * Counters at 15, which never move again
   */
  saturatedCounters: number;
  /**
   * Holds more items than its layers were made for: errorRate is exceeded
   */
  overCapacity: boolean;
  /**
   * One; more if the filter has grown
   */
  layers: Array<Layer>;
  /**
   * Items answered new
   */
  added: number;
  /**
   * Items answered not new
   */
  duplicate: number;
  /**
   * Removals that took place
   */
  removed: number;
  /**
   * Removals that changed nothing
   */
  refused: number;
  /**
   * The one that is open or committing
   */
  sync?: Sync;
  /**
   * With `base` and `version`; of the rules those that are on
   */
  urlProfile: UrlProfile;
  /**
   * See the creation; absent if there is no limit
   */
  maxAttempts?: number;
  /**
   * See the creation; absent if URLs do not age
   */
  maxAgeSeconds?: number;
  /**
   * Of a set that ages
   */
  age?: Age;
  queue: Queue;
};

export type LostVisitedSet = {
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  growth: 'auto' | 'none';
  /**
   * Of the first layer
   */
  geometry: Geometry;
  /**
   * Of all layers there are
   */
  memoryBytes: number;
  name: string;
  semantics: 'set' | 'multiset';
  /**
   * Another one after clear, or after delete and create
   */
  generation: string;
  createdAt: string;
  /**
   * STORE_DATA_LOST for every call but clear and delete
   */
  state: 'lost';
  /**
   * With `base` and `version`; of the rules those that are on
   */
  urlProfile: UrlProfile;
};

export type VisitedSetList = {
  visitedSets: Array<VisitedSet | LostVisitedSet>;
  /**
   * Cursor of the next page; absent on the last
   */
  next?: string;
};

export type Discoveries = {
  /**
   * At most 10,000 URLs, with or without a payload; one of more than 8 KiB (UTF-8) is invalid, unless set otherwise
   */
  urls: Array<
    | string
    | {
        url: string;
        /**
         * Opaque, handed out with the URL: at most 1024 bytes in UTF-8
         */
        payload: string;
      }
  >;
  /**
   * Of a set that ages: how long these URLs are seen from now on, at most its maxAgeSeconds, which is the default; one that is seen for longer stays so
   */
  ttlSeconds?: number;
};

export type InvalidUrl = {
  /**
   * Place in `results`, from 0
   */
  index: number;
  reason: string;
};

export type Marked = {
  /**
   * URLs by verdict
   */
  counts: {
    [key: string]: number;
  };
  invalid: Array<InvalidUrl>;
  results: Array<'new' | 'seen' | 'invalid'>;
};

export type Visits = {
  /**
   * At most 10,000 strings; one of more than 8 KiB (UTF-8) is invalid, unless set otherwise
   */
  urls: Array<string>;
  /**
   * Of a set that ages: how long these URLs are seen from now on, at most its maxAgeSeconds, which is the default; one that is seen for longer stays so
   */
  ttlSeconds?: number;
};

export type Urls = {
  /**
   * At most 10,000 strings; one of more than 8 KiB (UTF-8) is invalid, unless set otherwise
   */
  urls: Array<string>;
};

export type Checked = {
  /**
   * URLs by verdict
   */
  counts: {
    [key: string]: number;
  };
  invalid: Array<InvalidUrl>;
  results: Array<'seen' | 'unseen' | 'invalid'>;
};

export type Forgotten = {
  /**
   * URLs by verdict
   */
  counts: {
    [key: string]: number;
  };
  invalid: Array<InvalidUrl>;
  results: Array<'forgotten' | 'absent' | 'saturated' | 'invalid'>;
};

export type ExplainUrls = {
  /**
   * At most 100 strings, of at most 65,536 characters together
   */
  urls: Array<string>;
};

export type UrlStep = {
  /**
   * S2 to S12, or the member of `urlProfile` that switches it on
   */
  rule: string;
  before: string;
  after: string;
};

export type ExplainedUrl = {
  /**
   * As it came
   */
  url: string;
  /**
   * Why it has no key
   */
  invalid?: string;
  /**
   * What it is compared by
   */
  key?: string;
  /**
   * The rules that changed it, in order: the last one ends with the key
   */
  rules?: Array<UrlStep>;
  /**
   * Whether a layer claims it, and it is not hidden. While a sync is open, of what was there before
   */
  answer?: 'seen' | 'unseen';
  /**
   * Set that ages: forgotten while others keep its counters alive
   */
  hidden?: boolean;
  /**
   * Oldest first
   */
  layers?: Array<LayerFinding>;
};

export type ExplainedUrls = {
  /**
   * One per URL, in order
   */
  urls: Array<ExplainedUrl>;
};

export type Lease = {
  max: number;
  leaseSeconds: number;
  /**
   * How long to wait for a URL where there is none
   */
  waitSeconds?: number;
};

export type LeasedUrl = {
  /**
   * Opaque; names this lease
   */
  id: string;
  /**
   * As it came in
   */
  url: string;
  /**
   * What came with the URL; absent if nothing did
   */
  payload?: string;
  /**
   * 1 on the first lease
   */
  attempt: number;
};

export type Leases = {
  urls: Array<LeasedUrl>;
};

export type LeaseIds = {
  /**
   * Ids of leased URLs
   */
  ids: Array<string>;
};

export type Acked = {
  results: Array<'acked' | 'expired' | 'unknown'>;
};

export type Release = {
  /**
   * Ids of leased URLs
   */
  ids: Array<string>;
  /**
   * How long nobody gets them
   */
  delaySeconds?: number;
  /**
   * Kept with a URL that becomes a dead letter: at most 256 bytes in UTF-8
   */
  reason?: string;
  /**
   * False to put URLs off without a failed attempt: `attempt` stays as it was before the lease
   */
  countAttempt?: boolean;
};

export type Released = {
  results: Array<'released' | 'expired' | 'unknown'>;
};

export type Extend = {
  /**
   * Ids of leased URLs
   */
  ids: Array<string>;
  /**
   * The leases end so long from now
   */
  leaseSeconds: number;
};

export type Extended = {
  results: Array<'extended' | 'expired' | 'unknown'>;
};

export type DeadLetter = {
  /**
   * Opaque; names this dead letter
   */
  id: string;
  /**
   * As it came in
   */
  url: string;
  /**
   * What came with the URL; absent if nothing did
   */
  payload?: string;
  /**
   * How often it was leased
   */
  attempt: number;
  /**
   * Of its last release; "the lease ended" if nobody released it
   */
  reason: string;
};

export type DeadLetters = {
  urls: Array<DeadLetter>;
  /**
   * Cursor of the next page; absent on the last
   */
  next?: string;
};

export type DeadLetterIds = {
  /**
   * Ids of dead letters
   */
  ids: Array<string>;
};

export type PutBack = {
  results: Array<'put back' | 'unknown'>;
};

export type Purged = {
  results: Array<'purged' | 'unknown'>;
};

export type OpenSync = {
  /**
   * Of the filter once it is committed; as it is, if absent
   */
  capacity?: number;
  /**
   * Of the filter once it is committed; as it is, if absent
   */
  errorRate?: number;
};

export type KeptItems = {
  results: Array<'kept' | 'new' | 'forgotten'>;
};

export type CommitSync = {
  /**
   * Forgets whatever share of the items it is; not together with maxForgetShare
   */
  force?: boolean;
  /**
   * Changes nothing: answers the sync as it is, and whether it would be refused
   */
  dryRun?: boolean;
  /**
   * Share of the items that may be forgotten; SYNC_MAX_FORGET_SHARE if absent
   */
  maxForgetShare?: number;
};

export type CommittedSync = {
  id: string;
  /**
   * open takes lines; committing goes on by itself, and has no way back; the others are over
   */
  state: 'open' | 'committing' | 'committed' | 'abandoned';
  openedAt: string;
  /**
   * What the filter has once it is committed
   */
  capacity: number;
  /**
   * What the filter has once it is committed
   */
  errorRate: number;
  /**
   * Lines taken, those answered invalid or forgotten apart
   */
  listed: number;
  /**
   * How many of them were answered new
   */
  new: number;
  /**
   * Items that a commit would forget, or has forgotten
   */
  wouldForget: number;
  /**
   * Items of the filter; not those that only the list has
   */
  items: number;
  /**
   * Of the layers that it fills; 0 once it is over
   */
  memoryBytes: number;
  /**
   * Why it was abandoned
   */
  reason?: string;
  /**
   * With dryRun: the share of the items that may be forgotten
   */
  maxForgetShare?: number;
  /**
   * With dryRun: whether SYNC_WOULD_FORGET would be the answer
   */
  refused?: boolean;
};

export type KeptUrls = {
  results: Array<'kept' | 'new' | 'forgotten' | 'invalid'>;
  /**
   * URLs by verdict
   */
  counts: {
    [key: string]: number;
  };
  invalid: Array<InvalidUrl>;
};

export type QueuePoint = {
  waiting: number;
  leased: number;
  delayed: number;
  dead: number;
};

export type Point = {
  at: string;
  items: number;
  fill: number;
  estimatedErrorRate: number;
  /**
   * Since it was made, as are the three below
   */
  added: number;
  duplicate: number;
  removed: number;
  refused: number;
  /**
   * Of a visited set
   */
  queue?: QueuePoint;
};

export type History = {
  /**
   * Whether this instance notes how it is; if not, there are too many others
   */
  watched: boolean;
  /**
   * When this instance began to watch what is there now, or the start of the time asked for, whichever is later
   */
  since: string;
  /**
   * From one point to the next; more where the store was away
   */
  intervalSeconds: number;
  /**
   * Oldest first
   */
  points: Array<Point>;
};

/**
 * RFC 9457
 */
export type Problem = {
  type: string;
  title: string;
  status: number;
  /**
   * Stable
   */
  code:
    | 'VALIDATION_FAILED'
    | 'UNAUTHENTICATED'
    | 'FORBIDDEN'
    | 'QUOTA_EXCEEDED'
    | 'FILTER_NOT_FOUND'
    | 'VISITED_SET_NOT_FOUND'
    | 'SYNC_NOT_FOUND'
    | 'KEY_NOT_FOUND'
    | 'ROUTE_NOT_FOUND'
    | 'METHOD_NOT_ALLOWED'
    | 'REQUEST_TIMEOUT'
    | 'FILTER_EXISTS'
    | 'REMOVAL_UNSUPPORTED'
    | 'FILTER_BUSY'
    | 'SYNC_EXISTS'
    | 'SYNC_ENDED'
    | 'SYNC_UNSUPPORTED'
    | 'SYNC_WOULD_FORGET'
    | 'BODY_TOO_LARGE'
    | 'UNSUPPORTED_MEDIA_TYPE'
    | 'IDEMPOTENCY_KEY_REUSED'
    | 'IDEMPOTENCY_KEY_EXPIRED'
    | 'FILTER_TOO_LARGE'
    | 'RATE_LIMITED'
    | 'INTERNAL_ERROR'
    | 'STORE_UNAVAILABLE'
    | 'STORE_DATA_LOST'
    | 'OVERLOADED'
    | 'FILTER_FULL'
    | 'STORE_FULL';
  detail: string;
  requestId: string;
  errors?: Array<{
    pointer: string;
    detail: string;
  }>;
  /**
   * Of a stream: the line at fault
   */
  line?: number;
};
