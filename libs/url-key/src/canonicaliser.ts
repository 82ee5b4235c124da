import { compileAuthority } from './authority.js';
import { canonicalHost } from './host.js';
import { hostOfKey } from './host-of-key.js';
import { InvalidUrl } from './invalid-url.js';
import { parseCanonical } from './parse.js';
import { compilePath } from './path.js';
import type { NormalisedUrlProfile } from './profile.js';
import { compileQuery } from './query.js';
import { scanCanonical } from './scan.js';

/** A compiled profile. */
export interface UrlCanonicaliser {
  readonly profile: NormalisedUrlProfile;
  /**
   * Returns the key of a URL. A visited set treats two URLs as the same if and only if their keys are equal. A key is
   * pure ASCII and is its own key. Use it to compare and hash, not to fetch.
   *
   * `base` is the absolute URL against which a relative `url` is resolved. Never throws. Returns InvalidUrl if `url`
   * isn't an http or https URL.
   */
  key(url: string, base?: string): string | InvalidUrl;
  /**
   * Returns the host as it appears in its URLs' keys. `host` is a name or address as in a URL: without user info or
   * port, and with an IPv6 address in brackets. Never throws.
   */
  host(host: string): string | InvalidUrl;
}

/** Compiles a profile from normaliseProfile into a function. Call it once per visited set, not per URL. */
export function compileProfile(profile: NormalisedUrlProfile): UrlCanonicaliser {
  const { keepFragments } = profile;
  return compileWith(
    profile,
    (url, base) => scanCanonical(url, keepFragments) ?? parseCanonical(url, base, keepFragments),
  );
}

/** Like compileProfile, but without the fast path. Tests compare the two. */
export function compileWithoutScan(profile: NormalisedUrlProfile): UrlCanonicaliser {
  return compileWith(profile, (url, base) => parseCanonical(url, base, profile.keepFragments));
}

/** `strictKey` computes the key under base profile `strict`, but keeps the fragments that the profile keeps. */
function compileWith(
  profile: NormalisedUrlProfile,
  strictKey: (url: string, base?: string) => string | InvalidUrl,
): UrlCanonicaliser {
  const rewrite = compileRules(profile);
  return {
    profile,
    key(url, base) {
      const strict = strictKey(url, base);
      return typeof strict === 'string' ? rewrite(strict) : strict;
    },
    host(text) {
      const host = canonicalHost(text);
      return typeof host === 'string' ? hostOfKey(rewrite(`https://${host}/`)) : host;
    },
  };
}

/** Compiles a profile's rules beyond `strict` into a function on `strict` keys. */
export function compileRules(profile: NormalisedUrlProfile): (strict: string) => string {
  return rewriteWith({
    authority: compileAuthority(profile),
    path: compilePath(profile),
    query: compileQuery(profile),
    dropFragments: profile.dropFragments,
  });
}

/** Functions on the parts of a canonical URL. A part without a function stays as it is. */
interface Rewrites {
  readonly authority?: ((authority: string) => string) | undefined;
  readonly path?: ((path: string) => string) | undefined;
  /** Takes the text after the `?`. An empty result removes the query. */
  readonly query?: ((query: string) => string) | undefined;
  readonly dropFragments?: boolean | undefined;
}

/** A function on canonical URLs that rewrites their parts. */
export function rewriteWith({
  authority,
  path,
  query,
  dropFragments = false,
}: Rewrites): (strict: string) => string {
  const queryOnly = authority === undefined && path === undefined && !dropFragments;
  if (queryOnly && query === undefined) return (strict) => strict;

  return (strict) => {
    if (queryOnly && !strict.includes('?')) return strict;
    // Finds the first slash after the scheme and at least one host character.
    const pathAt = strict.indexOf('/', 'http://h'.length);
    const hash = strict.indexOf('#', pathAt);
    const fragmentAt = hash === -1 ? strict.length : hash;
    const question = strict.indexOf('?', pathAt);
    const queryAt = question === -1 || question > fragmentAt ? fragmentAt : question;

    const authorityText = strict.slice(0, pathAt);
    const pathText = strict.slice(pathAt, queryAt);
    const queryText = strict.slice(queryAt + 1, fragmentAt);
    const newQuery = query === undefined ? queryText : query(queryText);
    return (
      (authority === undefined ? authorityText : authority(authorityText)) +
      (path === undefined ? pathText : path(pathText)) +
      (newQuery === '' ? '' : `?${newQuery}`) +
      (dropFragments ? '' : strict.slice(fragmentAt))
    );
  };
}
