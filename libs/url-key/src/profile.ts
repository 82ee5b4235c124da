import type { TrackingVersion } from './tracking.js';

export const BASES = ['safe', 'strict'] as const;

export const SWITCHES = [
  'stripTracking',
  'stripSession',
  'formQuery',
  'sortValues',
  'dropBlank',
  'stripTrailingSlash',
  'stripWww',
  'ignoreScheme',
  'stripDirIndex',
  'collapseSlashes',
  'stripUserinfo',
  'dropFragments',
  'keepFragments',
] as const;

export const NAME_LISTS = ['dropParams', 'keepParams'] as const;

/** Maximum number of names per list. */
export const MAX_NAMES = 1_000;
/** In characters, including escapes. */
export const MAX_NAME_LENGTH = 256;

/** The profile that a caller may request: a base profile plus opt-in switches, all off by default. */
export interface UrlProfileSpec {
  /** `safe` (the default) drops empty query tokens and sorts the others by name. `strict` does neither. */
  base?: (typeof BASES)[number];
  version?: 1;
  /** Drops query parameters that only track visitors, by a versioned list of names: `utm_*`, `gclid`, `fbclid` … */
  stripTracking?: boolean;
  /** The version of that list. Default: the latest. */
  trackingVersion?: TrackingVersion;
  /**
   * Drops query parameters with exactly these names, spelled as in a URL. At most 1,000 names of 1 to 256 characters.
   */
  dropParams?: readonly string[];
  /** Drops all other query parameters (same format, at least one name). A name on both lists is dropped. */
  keepParams?: readonly string[];
  /**
   * Drops session ids of Java servlets, PHP, ASP, ASP.NET and ColdFusion, and `sid` and similar parameters, from path
   * and query, if the value looks like a session id.
   */
  stripSession?: boolean;
  /** Reads the query as a form: `+` is `%20`, `%2C` is `,`, `?a` is `?a=`. Works on bytes in any character set. */
  formQuery?: boolean;
  /** Sorts values of repeated names too. Not with `strict`. */
  sortValues?: boolean;
  /** Drops `a=`, and with formQuery also `a`. */
  dropBlank?: boolean;
  /** Treats `/a/` as `/a`. */
  stripTrailingSlash?: boolean;
  /** Treats `www.a.b` as `a.b`. */
  stripWww?: boolean;
  /** Treats http as https. */
  ignoreScheme?: boolean;
  /** Treats `/a/index.html` and similar paths as `/a/`. */
  stripDirIndex?: boolean;
  /** Treats `/a//b` as `/a/b`. */
  collapseSlashes?: boolean;
  /** Treats `user:password@a.b` as `a.b`. */
  stripUserinfo?: boolean;
  /** Drops `#!…` and `#/…` too. */
  dropFragments?: boolean;
  /** Keeps every non-empty fragment: `#inbox/1`, `#F!a`. Not with dropFragments. */
  keepFragments?: boolean;
}

/**
 * A profile with all defaults applied. It is stored with a visited set, because a Bloom filter can't be re-keyed. It
 * contains only switches that are on, and name lists with canonical escapes, sorted, without duplicates. Equal requests
 * give deep-equal profiles with equal JSON, and normalising is idempotent.
 *
 * The version covers every rule in this library, including its lists of names (except trackers, which have their own
 * version). Rule sets are added, but never edited. A change that gives any URL a different key becomes version 2 next
 * to version 1, and stored sets keep their version.
 */
export type NormalisedUrlProfile = Readonly<
  { base: (typeof BASES)[number]; version: 1; trackingVersion?: TrackingVersion } & {
    [name in (typeof SWITCHES)[number]]?: true;
  } & { [name in (typeof NAME_LISTS)[number]]?: readonly string[] }
>;
