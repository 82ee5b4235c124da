// Made from docs/openapi.json by `npm run client:types`.

export type CreateKey = {
  /**
   * A label for people
   */
  name: string;
  /**
   * `write` includes `read`, and `admin` includes `write`
   */
  scopes: Array<'read' | 'write' | 'admin'>;
  /**
   * The key sees only filters and visited sets whose names begin with this prefix
   */
  prefix?: string;
  /**
   * Limit on the number of filters and visited sets under the prefix, including those that other keys created. Needs `prefix`. Absent: no limit
   */
  maxFilters?: number;
  /**
   * Limit on the sum of their `memoryBytes`. Needs `prefix`. Absent: no limit
   */
  maxBytes?: number;
  /**
   * When the key expires, with a time zone. Absent: never
   */
  expiresAt?: string;
};

export type NewKey = {
  /**
   * 16 hex digits, part of the key
   */
  id: string;
  name: string;
  scopes: Array<'read' | 'write' | 'admin'>;
  /**
   * Absent: all names
   */
  prefix?: string;
  /**
   * Absent: no limit
   */
  maxFilters?: number;
  /**
   * Absent: no limit
   */
  maxBytes?: number;
  createdAt: string;
  /**
   * Absent: never
   */
  expiresAt?: string;
  /**
   * The key itself. Only this answer shows it
   */
  key: string;
};

export type Usage = {
  filters: number;
  bytes: number;
};

export type ListedKey = {
  /**
   * 16 hex digits, part of the key
   */
  id: string;
  name: string;
  scopes: Array<'read' | 'write' | 'admin'>;
  /**
   * Absent: all names
   */
  prefix?: string;
  /**
   * Absent: no limit
   */
  maxFilters?: number;
  /**
   * Absent: no limit
   */
  maxBytes?: number;
  createdAt: string;
  /**
   * Absent: never
   */
  expiresAt?: string;
  /**
   * Current usage under the prefix. Absent for a key without a prefix
   */
  usage?: Usage;
  /**
   * When this instance last accepted the key. Absent if it has not accepted the key since it started
   */
  lastUsedAt?: string;
};

export type KeyList = {
  keys: Array<ListedKey>;
};

export type RotateKey = {
  /**
   * How long the old key stays valid alongside the new one, unless it expires sooner
   */
  overlapSeconds?: number;
};

export type Me = {
  /**
   * `key:` and the key's id, `jwt:` and the token's subject, or `anonymous`
   */
  id: string;
  /**
   * The key's name, or the token's subject
   */
  name: string;
  /**
   * As given: `write` includes `read`, and `admin` includes `write`
   */
  scopes: Array<'read' | 'write' | 'admin'>;
  /**
   * Absent: all names
   */
  prefix?: string;
  /**
   * When the credentials expire. Absent: never
   */
  expiresAt?: string;
};

export type Health = {
  status: 'ok';
};

export type Ready = {
  status: 'ready';
  /**
   * Settings that an operator should change, for example eviction, persistence, or replicas
   */
  warnings: Array<string>;
};

export type Unready = {
  status: 'unready';
  reason: string;
};

export type CreateFilter = {
  /**
   * `counting`: 4-bit counters, so items can be removed. `standard`: bits
   */
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  /**
   * `auto`: when the filter is full, it adds another layer, 2.7 times as large, up to six layers within `MAX_FILTER_BYTES`. All layers share `errorRate`. `none`: adds get `FILTER_FULL` at twice its capacity
   */
  growth?: 'auto' | 'none';
  name: string;
  /**
   * `set`: a second add changes nothing. `multiset` (counting filters only): every add counts
   */
  semantics?: 'set' | 'multiset';
};

export type Geometry = {
  segments: number;
  /**
   * Counters per page. An item has all its counters in one page
   */
  pageSize: number;
  /**
   * Counters per item
   */
  hashes: number;
  /**
   * 2: SipHash-2-4-128, for new filters. 3: the same, for sets with `perHost`. 1: murmur3, for filters created by version 0.1
   */
  hashScheme: number;
  /**
   * Counters in the whole filter
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
   * Current false-positive rate, estimated from `fill`
   */
  estimatedErrorRate: number;
  memoryBytes: number;
};

export type Sync = {
  id: string;
  /**
   * `open`: takes items. `committing`: in progress, and cannot be cancelled. `committed`, `abandoned`: finished
   */
  state: 'open' | 'committing' | 'committed' | 'abandoned';
  openedAt: string;
  /**
   * New capacity, applied on commit
   */
  capacity: number;
  /**
   * New error rate, applied on commit
   */
  errorRate: number;
  /**
   * Items listed so far, except `invalid` and `forgotten` ones
   */
  listed: number;
  /**
   * Listed items that got `new`
   */
  new: number;
  /**
   * Items that the commit would forget, or has forgotten
   */
  wouldForget: number;
  /**
   * Items in the filter, except those that only the sync has
   */
  items: number;
  /**
   * Bytes in the layers that the sync fills. 0 once it has finished
   */
  memoryBytes: number;
  /**
   * Why the sync was abandoned
   */
  reason?: string;
};

export type Filter = {
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  growth: 'auto' | 'none';
  /**
   * Geometry of the first layer
   */
  geometry: Geometry;
  /**
   * Bytes in all layers
   */
  memoryBytes: number;
  name: string;
  semantics: 'set' | 'multiset';
  /**
   * Changes on clear, or on delete and re-create
   */
  generation: string;
  createdAt: string;
  /**
   * Number of adds that returned `new`, minus removals that removed the last copy of an item
   */
  items: number;
  /**
   * Share of counters that are not zero
   */
  fill: number;
  /**
   * Current false-positive rate, estimated from `fill`
   */
  estimatedErrorRate: number;
  /**
   * Counters at 15, which stay at 15
   */
  saturatedCounters: number;
  /**
   * Holds more items than its layers are sized for, so it exceeds `errorRate`
   */
  overCapacity: boolean;
  /**
   * One layer, or more if the filter has grown
   */
  layers: Array<Layer>;
  /**
   * Number of adds that returned `new`
   */
  added: number;
  /**
   * Number of adds that did not return `new`
   */
  duplicate: number;
  /**
   * Removals that changed the filter
   */
  removed: number;
  /**
   * Removals that changed nothing
   */
  refused: number;
  /**
   * The sync in progress
   */
  sync?: Sync;
};

export type LostFilter = {
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  growth: 'auto' | 'none';
  /**
   * Geometry of the first layer
   */
  geometry: Geometry;
  /**
   * Bytes in all layers
   */
  memoryBytes: number;
  name: string;
  semantics: 'set' | 'multiset';
  /**
   * Changes on clear, or on delete and re-create
   */
  generation: string;
  createdAt: string;
  /**
   * `lost`: every call but clear and delete gets `STORE_DATA_LOST`
   */
  state: 'lost';
};

export type FilterList = {
  filters: Array<Filter | LostFilter>;
  /**
   * Cursor for the next page. Absent on the last page
   */
  next?: string;
};

export type LayerCounters = {
  /**
   * Pages in the layer
   */
  pages: number;
  /**
   * Pages that were read: at most 256 in all layers
   */
  sampledPages: number;
  /**
   * How many of the counters in these pages are 0, 1, … 15, or 0 and 1 in a standard filter. Expired counters count as 0
   */
  values: Array<number>;
};

export type Counters = {
  /**
   * Layers, oldest first
   */
  layers: Array<LayerCounters>;
};

export type PerHost = {
  /**
   * Time between two leases from a host. Absent: none
   */
  delaySeconds?: number;
  /**
   * Maximum number of URLs per host that are leased at a time. Absent: no limit
   */
  maxLeased?: number;
  /**
   * Maximum number of URLs per host that are discovered and not forgotten. `discover` returns `limited` for further URLs. After a sync is committed, every URL that it kept counts towards the limit. In a set that ages, the count restarts with each period of `maxAgeSeconds`. Absent: no limit
   */
  maxUrls?: number;
};

export type PlanOptions = {
  /**
   * `counting`: 4-bit counters, so items can be removed. `standard`: bits
   */
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  /**
   * `auto`: when the filter is full, it adds another layer, 2.7 times as large, up to six layers within `MAX_FILTER_BYTES`. All layers share `errorRate`. `none`: adds get `FILTER_FULL` at twice its capacity
   */
  growth?: 'auto' | 'none';
  /**
   * For visited sets: forget URLs that were not visited or discovered for this many seconds. A URL may stay seen up to a thirteenth longer. Takes twice the memory. If absent, URLs stay seen until you forget them
   */
  maxAgeSeconds?: number;
  /**
   * For visited sets: the queue has a lane for each host, and leases take from them in turn. Needs `growth: "auto"`. `{}` sets no limits. Absent: the queue has one lane
   */
  perHost?: PerHost;
};

export type PlannedLayer = {
  /**
   * Number of items at which the next layer opens
   */
  capacity: number;
  /**
   * Share of the error rate that this layer may use
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
   * Geometry of the first layer
   */
  geometry: Geometry;
  /**
   * Bytes in all layers
   */
  memoryBytes: number;
  /**
   * For a visited set that ages
   */
  maxAgeSeconds?: number;
  /**
   * For a visited set with `perHost`
   */
  perHost?: PerHost;
  /**
   * If the filter grows: the layers that it can have, including the first
   */
  plannedLayers?: Array<PlannedLayer>;
};

export type Additions = {
  /**
   * At most 10,000 strings of at most 8 KiB (UTF-8). The operator can change both limits
   */
  items: Array<string>;
  /**
   * For multisets: add only absent items, and do not count the others. If a request repeats an item, only its first occurrence can be new. Filters with `set` semantics always add like this
   */
  onlyAbsent?: boolean;
};

export type Booleans = {
  results: Array<boolean>;
};

export type Items = {
  /**
   * At most 10,000 strings of at most 8 KiB (UTF-8). The operator can change both limits
   */
  items: Array<string>;
};

export type Removals = {
  results: Array<'absent' | 'removed' | 'saturated'>;
};

export type Counts = {
  results: Array<number>;
};

export type ExplainItems = {
  /**
   * At most 100 strings, with at most 65,536 characters in total
   */
  items: Array<string>;
};

export type FoundCounter = {
  /**
   * Position in the segment: `#index` of BITFIELD, with the width in `cell`
   */
  index: number;
  /**
   * In a set that ages: 0 if the counter has expired
   */
  value: number;
};

export type LayerFinding = {
  /**
   * Number of the layer. 0 is the oldest
   */
  layer: number;
  /**
   * Segment in the layer
   */
  segment: number;
  /**
   * Page in the segment
   */
  page: number;
  /**
   * Width of a cell: `u1` in a standard filter, `u4` in a counting filter, `u8` in a set that ages
   */
  cell: 'u1' | 'u4' | 'u8';
  /**
   * Redis store: the Redis key that holds the segment
   */
  redisKey?: string;
  /**
   * All counters are above zero
   */
  claims: boolean;
  /**
   * The item's k counters
   */
  counters: Array<FoundCounter>;
  /**
   * For a set that ages: when the item expires in this layer, unless it is visited again. Absent if the layer does not claim it
   */
  expires?: string;
};

export type ExplainedItem = {
  /**
   * Whether a layer claims the item, and the item is not hidden. During a sync, only the layers that existed before it are checked
   */
  answer: 'seen' | 'unseen';
  /**
   * For a set that ages: the item was forgotten, but other items keep its counters above zero
   */
  hidden?: boolean;
  /**
   * Layers, oldest first
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
   * Drops tracking parameters, by a versioned list: `utm_*`, `gclid`, `fbclid` …
   */
  stripTracking?: boolean;
  /**
   * Version of the `stripTracking` list. Absent: the latest. Needs `stripTracking`
   */
  trackingVersion?: 1;
  /**
   * Drops the parameters with these names
   */
  dropParams?: Array<string>;
  /**
   * Drops all other parameters
   */
  keepParams?: Array<string>;
  /**
   * Drops session ids from path and query, if the value looks like one
   */
  stripSession?: boolean;
  /**
   * Reads the query as a form: `+` is `%20`, `%2C` is `,`, `?a` is `?a=`
   */
  formQuery?: boolean;
  /**
   * Sorts parameters of the same name by value. Not allowed with `strict`
   */
  sortValues?: boolean;
  /**
   * Drops parameters without a value: `a=`, with `formQuery` also `a`
   */
  dropBlank?: boolean;
  /**
   * Treats `/a/` as `/a`
   */
  stripTrailingSlash?: boolean;
  /**
   * Treats `www.a.b` as `a.b`
   */
  stripWww?: boolean;
  /**
   * Treats http as https
   */
  ignoreScheme?: boolean;
  /**
   * Treats `/a/index.html` as `/a/`. The same applies to other names of index pages
   */
  stripDirIndex?: boolean;
  /**
   * Treats `/a//b` as `/a/b`
   */
  collapseSlashes?: boolean;
  /**
   * Treats `user:password@a.b` as `a.b`
   */
  stripUserinfo?: boolean;
  /**
   * Also drops the fragments `#!…` and `#/…`
   */
  dropFragments?: boolean;
  /**
   * Keeps every fragment that is not empty. Not allowed with `dropFragments`
   */
  keepFragments?: boolean;
};

export type CreateVisitedSet = {
  name: string;
  capacity: number;
  errorRate?: number;
  /**
   * `auto`: when the filter is full, it adds another layer, 2.7 times as large, up to six layers within `MAX_FILTER_BYTES`. All layers share `errorRate`. `none`: adds get `FILTER_FULL` at twice its capacity
   */
  growth?: 'auto' | 'none';
  /**
   * For visited sets: forget URLs that were not visited or discovered for this many seconds. A URL may stay seen up to a thirteenth longer. Takes twice the memory. If absent, URLs stay seen until you forget them
   */
  maxAgeSeconds?: number;
  /**
   * Rules that decide which URLs are the same page: the name of a base profile, or an object that turns on more rules
   */
  urlProfile?: 'safe' | 'strict' | UrlProfile;
  /**
   * A URL becomes a dead letter after this many leases without an acknowledgement. Absent: never
   */
  maxAttempts?: number;
  /**
   * For visited sets: the queue has a lane for each host, and leases take from them in turn. Needs `growth: "auto"`. `{}` sets no limits. Absent: the queue has one lane
   */
  perHost?: PerHost;
};

export type Expiring = {
  /**
   * When these URLs expire, unless they are visited again
   */
  at: string;
  items: number;
};

export type Age = {
  /**
   * Number of the current epoch since 1970
   */
  epoch: number;
  /**
   * Length of an epoch, a thirteenth of the age
   */
  epochSeconds: number;
  /**
   * Number of URLs by expiry time, estimated like `items`
   */
  expiring: Array<Expiring>;
  /**
   * Forgotten URLs whose counters other URLs keep above zero. The set stores them exactly until they expire
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
   * URLs that come back at a later time: discovered with a delay, or acknowledged with `againAfterSeconds`
   */
  scheduled: number;
  /**
   * Dead letters
   */
  dead: number;
  /**
   * Upper bound on how many of these URLs were forgotten. The other counts include them for about a minute
   */
  forgotten: number;
  /**
   * Seconds since the first waiting URL was discovered, or since it was due if it was scheduled. Absent if no URL is waiting
   */
  oldestSeconds?: number;
};

export type VisitedSet = {
  type: 'counting' | 'standard';
  capacity: number;
  errorRate: number;
  growth: 'auto' | 'none';
  /**
   * Geometry of the first layer
   */
  geometry: Geometry;
  /**
   * Bytes in all layers
   */
  memoryBytes: number;
  name: string;
  semantics: 'set' | 'multiset';
  /**
   * Changes on clear, or on delete and re-create
   */
  generation: string;
  createdAt: string;
  /**
   * Number of adds that returned `new`, minus removals that removed the last copy of an item
   */
  items: number;
  /**
   * Share of counters that are not zero
   */
  fill: number;
  /**
   * Current false-positive rate, estimated from `fill`
   */
  estimatedErrorRate: number;
  /**
   * Counters at 15, which stay at 15
   */
  saturatedCounters: number;
  /**
   * Holds more items than its layers are sized for, so it exceeds `errorRate`
   */
  overCapacity: boolean;
  /**
   * One layer, or more if the filter has grown
   */
  layers: Array<Layer>;
  /**
   * Number of adds that returned `new`
   */
  added: number;
  /**
   * Number of adds that did not return `new`
   */
  duplicate: number;
  /**
   * Removals that changed the filter
   */
  removed: number;
  /**
   * Removals that changed nothing
   */
  refused: number;
  /**
   * The sync in progress
   */
  sync?: Sync;
  /**
   * Contains `base`, `version`, and the rules that are on
   */
  urlProfile: UrlProfile;
  /**
   * As given on creation. Absent if there is no limit
   */
  maxAttempts?: number;
  /**
   * As given on creation. Absent if the set does not age
   */
  maxAgeSeconds?: number;
  /**
   * As given on creation. Absent without `perHost`
   */
  perHost?: PerHost;
  /**
   * For a set that ages
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
   * Geometry of the first layer
   */
  geometry: Geometry;
  /**
   * Bytes in all layers
   */
  memoryBytes: number;
  name: string;
  semantics: 'set' | 'multiset';
  /**
   * Changes on clear, or on delete and re-create
   */
  generation: string;
  createdAt: string;
  /**
   * `lost`: every call but clear and delete gets `STORE_DATA_LOST`
   */
  state: 'lost';
  /**
   * Contains `base`, `version`, and the rules that are on
   */
  urlProfile: UrlProfile;
};

export type VisitedSetList = {
  visitedSets: Array<VisitedSet | LostVisitedSet>;
  /**
   * Cursor for the next page. Absent on the last page
   */
  next?: string;
};

export type Discoveries = {
  /**
   * At most 10,000 URLs, with or without a payload. A URL longer than 8 KiB (UTF-8) is invalid. The operator can change both limits
   */
  urls: Array<
    | string
    | {
        url: string;
        /**
         * Any text, at most 1024 bytes in UTF-8. Leases return it with the URL
         */
        payload: string;
      }
  >;
  /**
   * For a set that ages: how long these URLs stay seen, at most `maxAgeSeconds`, which is the default. It never shortens the time that a URL has left
   */
  ttlSeconds?: number;
  /**
   * The queue hands out URLs with a higher priority first. A set with `perHost` does this for each host. A URL that is already visited keeps its entry's priority
   */
  priority?: 'high' | 'normal' | 'low';
  /**
   * Delay before these URLs can be leased for the first time. They become visited immediately, and count as `scheduled` until then. In a set that ages, the delay must be shorter than the time that these URLs stay seen
   */
  delaySeconds?: number;
};

export type InvalidUrl = {
  /**
   * Index in `results`, from 0
   */
  index: number;
  reason: string;
};

export type Discovered = {
  /**
   * Number of URLs by verdict
   */
  counts: {
    [key: string]: number;
  };
  invalid: Array<InvalidUrl>;
  /**
   * `limited`, in sets with `perHost`: the URL was neither visited nor queued, because its host already has `maxUrls` URLs, or because the queue already has a million hosts
   */
  results: Array<'new' | 'seen' | 'limited' | 'invalid'>;
};

export type Visits = {
  /**
   * At most 10,000 strings. A string longer than 8 KiB (UTF-8) is invalid. The operator can change both limits
   */
  urls: Array<string>;
  /**
   * For a set that ages: how long these URLs stay seen, at most `maxAgeSeconds`, which is the default. It never shortens the time that a URL has left
   */
  ttlSeconds?: number;
};

export type Visited = {
  /**
   * Number of URLs by verdict
   */
  counts: {
    [key: string]: number;
  };
  invalid: Array<InvalidUrl>;
  results: Array<'new' | 'seen' | 'invalid'>;
};

export type Urls = {
  /**
   * At most 10,000 strings. A string longer than 8 KiB (UTF-8) is invalid. The operator can change both limits
   */
  urls: Array<string>;
};

export type Checked = {
  /**
   * Number of URLs by verdict
   */
  counts: {
    [key: string]: number;
  };
  invalid: Array<InvalidUrl>;
  results: Array<'seen' | 'unseen' | 'invalid'>;
};

export type Forgotten = {
  /**
   * Number of URLs by verdict
   */
  counts: {
    [key: string]: number;
  };
  invalid: Array<InvalidUrl>;
  results: Array<'forgotten' | 'absent' | 'saturated' | 'invalid'>;
};

export type ExplainUrls = {
  /**
   * At most 100 strings, with at most 65,536 characters in total
   */
  urls: Array<string>;
};

export type UrlStep = {
  /**
   * S2 to S12, or the member of `urlProfile` that turns the rule on
   */
  rule: string;
  before: string;
  after: string;
};

export type ExplainedUrl = {
  /**
   * As received
   */
  url: string;
  /**
   * Why the URL has no key
   */
  invalid?: string;
  /**
   * The key by which the set compares URLs
   */
  key?: string;
  /**
   * The rules that changed the URL, in order. The last rule yields the key
   */
  rules?: Array<UrlStep>;
  /**
   * Whether a layer claims the item, and the item is not hidden. During a sync, only the layers that existed before it are checked
   */
  answer?: 'seen' | 'unseen';
  /**
   * For a set that ages: the item was forgotten, but other items keep its counters above zero
   */
  hidden?: boolean;
  /**
   * Layers, oldest first
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
   * For a set with `perHost`: maximum number of URLs per host. Default: 1 if `perHost` has `delaySeconds`, else no limit
   */
  maxPerHost?: number;
  /**
   * How long to wait if no URL can be leased
   */
  waitSeconds?: number;
};

export type LeasedUrl = {
  /**
   * Identifies this lease
   */
  id: string;
  /**
   * As received
   */
  url: string;
  /**
   * The URL's payload. Absent if it has none
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

export type Ack = {
  /**
   * Ids of leased URLs
   */
  ids: Array<string>;
  /**
   * The URLs come back into the queue after this time, as if they had never been leased. Until then, they count as `scheduled`, and `forget` removes them. Not for sets that age. Absent: the URLs leave the queue
   */
  againAfterSeconds?: number;
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
   * Delay before the URLs can be leased again
   */
  delaySeconds?: number;
  /**
   * For a set with `perHost`: delay before any URL from the same hosts can be leased, for example from the `Retry-After` header. It never shortens a host's delay. An `expired` id does not delay its host. An `unknown` id does, if the URL was forgotten or dropped and its entry is still in the queue
   */
  hostDelaySeconds?: number;
  /**
   * Stored with a URL that becomes a dead letter: at most 256 bytes in UTF-8
   */
  reason?: string;
  /**
   * `false` postpones URLs without counting an attempt: `attempt` stays as it was before the lease
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
   * The leases end this many seconds from now
   */
  leaseSeconds: number;
};

export type Extended = {
  results: Array<'extended' | 'expired' | 'unknown'>;
};

export type DeadLetter = {
  /**
   * Identifies this dead letter
   */
  id: string;
  /**
   * As received
   */
  url: string;
  /**
   * The URL's payload. Absent if it has none
   */
  payload?: string;
  /**
   * Number of leases
   */
  attempt: number;
  /**
   * Reason for the last release, or "the lease ended"
   */
  reason: string;
};

export type DeadLetters = {
  urls: Array<DeadLetter>;
  /**
   * Cursor for the next page. Absent on the last page
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

export type QueuedUrl = {
  /**
   * Identifies the URL at its current place in the queue. If the URL moves in the queue, its id changes. Leases and dead letters have different ids
   */
  id: string;
  /**
   * As received
   */
  url: string;
  /**
   * The URL's payload. Absent if it has none
   */
  payload?: string;
  /**
   * `waiting`: can be leased, or waits for its host's turn. `leased`: hidden by a lease. `delayed`: released with a delay. `scheduled`: comes back at a set time. `dead`: a dead letter, or a URL without attempts left whose lease has ended
   */
  state: 'waiting' | 'leased' | 'delayed' | 'scheduled' | 'dead';
  /**
   * Number of leases so far
   */
  attempt: number;
  /**
   * When the URL joined the queue: when it was discovered or, if it has been scheduled since then, when it last came back. Absent while it is scheduled
   */
  queuedAt?: string;
  /**
   * When the URL can be leased again: the end of its lease or delay, or its scheduled time. Absent for `waiting` and `dead`
   */
  dueAt?: string;
  /**
   * For a dead letter: the reason for its last release
   */
  reason?: string;
  /**
   * For a set with `perHost`: the URL's host
   */
  host?: string;
};

export type QueuedUrls = {
  urls: Array<QueuedUrl>;
  /**
   * Send it as `cursor` to continue. Absent at the end of the queue
   */
  next?: string;
};

export type DropQueued = {
  /**
   * Only URLs in this state
   */
  state?: 'waiting' | 'leased' | 'delayed' | 'scheduled' | 'dead';
  /**
   * Only URLs from this host. For a set with `perHost`
   */
  host?: string;
  /**
   * Only URLs, as they were queued, that begin with this text. End a host with `/`, because `https://example.org` also matches `https://example.organic/`
   */
  prefix?: string;
  /**
   * Drops the whole queue. Required without `state`, `host` and `prefix`, and refused with any of them
   */
  all?: true;
  /**
   * Also forgets the URLs, so that they can be discovered again
   */
  forget?: boolean;
  /**
   * Counts the URLs that match, and changes nothing
   */
  dryRun?: boolean;
  /**
   * Maximum number of URLs that this call drops or, with `dryRun`, counts
   */
  limit?: number;
  /**
   * `next` from the previous answer. Valid with the same selection, until the set is cleared
   */
  cursor?: string;
};

export type DroppedQueued = {
  /**
   * Number of URLs that match, in the part of the queue that this call read
   */
  matched: number;
  /**
   * Number of URLs that this call dropped from the queue: fewer than `matched` if workers or other calls took some of them first. With `dryRun`: 0
   */
  dropped: number;
  /**
   * With `forget`: number of these URLs that it also forgot
   */
  forgotten?: number;
  /**
   * Send it as `cursor` to continue. Absent at the end of the queue
   */
  next?: string;
};

export type Host = {
  /**
   * As in URL keys: lower-case ASCII, or an address
   */
  host: string;
  /**
   * URLs that wait, for example for their turn, or whose lease, delay or schedule has ended
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
   * URLs that come back at a later time
   */
  scheduled: number;
  /**
   * Dead letters
   */
  dead: number;
  /**
   * URLs that count towards `maxUrls`. Absent if the set has no `maxUrls`
   */
  found?: number;
  /**
   * When workers can lease the next URL. If this time has passed, the host is due. Absent if no URL waits, or `maxLeased` URLs are leased. Leased URLs that were dropped or forgotten count towards `maxLeased` for up to about a minute, even if `leased` leaves them out
   */
  nextAt?: string;
  /**
   * Workers can't lease a URL before this time. Absent if the host is not blocked
   */
  blockedUntil?: string;
  /**
   * The host's own setting. Absent: the set's setting applies
   */
  delaySeconds?: number;
  /**
   * The host's own setting. Absent: the set's setting applies
   */
  maxLeased?: number;
  /**
   * The host's own setting. Absent: the set's setting applies
   */
  maxUrls?: number;
};

export type HostList = {
  hosts: Array<Host>;
  /**
   * Cursor for the next page. Absent on the last page
   */
  next?: string;
};

export type HostSettings = {
  /**
   * Time between two leases from the host. 0: none. Absent: the set's setting applies
   */
  delaySeconds?: number;
  /**
   * Maximum number of the host's URLs that are leased at a time. Absent: the set's setting applies
   */
  maxLeased?: number;
  /**
   * Maximum number of the host's URLs that are discovered and not forgotten. The set must have `maxUrls` too. Absent: the set's setting applies
   */
  maxUrls?: number;
  /**
   * Workers can't lease the host's URLs before this time. Absent: the host is not blocked
   */
  blockedUntil?: string;
};

export type Dropped = {
  /**
   * Number of URLs that were dropped from the queue
   */
  dropped: number;
};

export type OpenSync = {
  /**
   * New value for the filter, applied on commit. Absent: unchanged
   */
  capacity?: number;
  /**
   * New value for the filter, applied on commit. Absent: unchanged
   */
  errorRate?: number;
};

export type KeptItems = {
  results: Array<'kept' | 'new' | 'forgotten'>;
};

export type CommitSync = {
  /**
   * Commits, no matter how many items it forgets. Cannot be combined with `maxForgetShare`
   */
  force?: boolean;
  /**
   * Changes nothing. Returns the sync, and whether the service would refuse the commit
   */
  dryRun?: boolean;
  /**
   * Maximum share of the items that the commit may forget. Absent: `SYNC_MAX_FORGET_SHARE`
   */
  maxForgetShare?: number;
};

export type CommittedSync = {
  id: string;
  /**
   * `open`: takes items. `committing`: in progress, and cannot be cancelled. `committed`, `abandoned`: finished
   */
  state: 'open' | 'committing' | 'committed' | 'abandoned';
  openedAt: string;
  /**
   * New capacity, applied on commit
   */
  capacity: number;
  /**
   * New error rate, applied on commit
   */
  errorRate: number;
  /**
   * Items listed so far, except `invalid` and `forgotten` ones
   */
  listed: number;
  /**
   * Listed items that got `new`
   */
  new: number;
  /**
   * Items that the commit would forget, or has forgotten
   */
  wouldForget: number;
  /**
   * Items in the filter, except those that only the sync has
   */
  items: number;
  /**
   * Bytes in the layers that the sync fills. 0 once it has finished
   */
  memoryBytes: number;
  /**
   * Why the sync was abandoned
   */
  reason?: string;
  /**
   * With `dryRun`: the maximum share of the items that the commit may forget
   */
  maxForgetShare?: number;
  /**
   * With `dryRun`: whether the service would refuse the commit with `SYNC_WOULD_FORGET`
   */
  refused?: boolean;
};

export type KeptUrls = {
  results: Array<'kept' | 'new' | 'forgotten' | 'invalid'>;
  /**
   * Number of URLs by verdict
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
  scheduled: number;
  dead: number;
};

export type Point = {
  at: string;
  items: number;
  fill: number;
  estimatedErrorRate: number;
  /**
   * Counted since the filter was created, like the next three members
   */
  added: number;
  duplicate: number;
  removed: number;
  refused: number;
  /**
   * For a visited set
   */
  queue?: QueuePoint;
};

export type History = {
  /**
   * Whether this instance records the history. `false` if it already watches 500 filters
   */
  watched: boolean;
  /**
   * When this instance began to record this filter, or the start of the requested time, whichever is later
   */
  since: string;
  /**
   * Seconds between two points. Points are further apart where the store was unavailable
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
   * A stable code
   */
  code:
    | 'VALIDATION_FAILED'
    | 'UNAUTHENTICATED'
    | 'FORBIDDEN'
    | 'QUOTA_EXCEEDED'
    | 'FILTER_NOT_FOUND'
    | 'VISITED_SET_NOT_FOUND'
    | 'SYNC_NOT_FOUND'
    | 'HOST_NOT_FOUND'
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
  /**
   * The id of the trace, if the service sends traces
   */
  traceId?: string;
  errors?: Array<{
    pointer: string;
    detail: string;
  }>;
  /**
   * For a stream: the number of the line that failed
   */
  line?: number;
};
