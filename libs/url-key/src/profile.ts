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

/** Per name list. */
export const MAX_NAMES = 1_000;
/** In characters, escapes counted. */
export const MAX_NAME_LENGTH = 256;

/** What a caller may ask for: a base profile plus opt-in switches, which are all off by default. */
export interface UrlProfileSpec {
  /** `safe` (the default) drops empty query tokens and sorts the others by name; `strict` does neither. */
  base?: (typeof BASES)[number];
  version?: 1;
  /** Drops query parameters that only track visitors, by a versioned list of names: `utm_*`, `gclid`, `fbclid` … */
  stripTracking?: boolean;
  /** The version of that list; the latest if absent. */
  trackingVersion?: TrackingVersion;
  /** Drops query parameters of these exact names, written as a URL has them: up to 1,000 of 1 to 256 characters. */
  dropParams?: readonly string[];
  /** Drops all other parameters (same form, at least one name). A name on both lists is dropped. */
  keepParams?: readonly string[];
  /**
   * Drops session ids from path and query where the value has the shape of a session id: those of Java servlets, PHP,
   * ASP, ASP.NET and ColdFusion, and `sid` and the like.
   */
  stripSession?: boolean;
  /**
   * Reads the query as a form: `+` is `%20`, `%2C` is `,`, `?a` is `?a=`. It works on bytes, whatever the character
   * set.
   */
  formQuery?: boolean;
  /** Sorts repeated names by value too. Not with `strict`. */
  sortValues?: boolean;
  /** Drops `a=`; with formQuery also `a`. */
  dropBlank?: boolean;
  /** `/a/` is `/a`. */
  stripTrailingSlash?: boolean;
  /** `www.a.b` is `a.b`. */
  stripWww?: boolean;
  /** http is https. */
  ignoreScheme?: boolean;
  /** `/a/index.html` is `/a/`, and the like. */
  stripDirIndex?: boolean;
  /** `/a//b` is `/a/b`. */
  collapseSlashes?: boolean;
  /** `user:password@a.b` is `a.b`. */
  stripUserinfo?: boolean;
  /** Drops `#!…` and `#/…`, too. */
  dropFragments?: boolean;
  /** Keeps every fragment that is not empty: `#inbox/1`, `#F!a`. Not with dropFragments. */
  keepFragments?: boolean;
}

/**
 * A profile without defaults left to apply. It is stored with a visited set, since a Bloom filter cannot be re-keyed.
 *
 * Only switches that are on are present. Name lists are in canonical escapes, sorted, without duplicates. Equal
 * requests give deep-equal profiles with equal JSON, and a normalised profile normalises to itself.
 *
 * The version stands for every rule in this library, its lists of names included (trackers have their own version). A
 * rule set is never edited, only added. A change that gives any URL another key becomes version 2 beside version 1, and
 * sets stored with 1 keep their keys.
 */
export type NormalisedUrlProfile = Readonly<
  { base: (typeof BASES)[number]; version: 1; trackingVersion?: TrackingVersion } & {
    [name in (typeof SWITCHES)[number]]?: true;
  } & { [name in (typeof NAME_LISTS)[number]]?: readonly string[] }
>;
