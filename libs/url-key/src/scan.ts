/**
 * The fast path. Nearly all real URLs are already canonical, and a regular expression proves that at a fraction of the
 * parser's cost. It may miss canonical URLs, but must never accept one that isn't canonical. The parser (parse.ts)
 * handles all other URLs, and tests check that both give the same keys.
 */

/**
 * Lower-case labels. The last one is not a number, because a number could mean IPv4. It also rejects some hosts that
 * the parser accepts: those with `--` (possibly Punycode, which needs checks), hyphens at the ends of a label, empty
 * labels, ports or userinfo.
 */
export const ORDINARY_HOST = '(?:[a-z0-9]+[.-])*[a-z][a-z0-9]*';

/** Characters that the rules leave alone. The first is not a dot, which excludes dot segments. */
const SEGMENT = "[\\w\\-~!$&'()*+,;=:@%][\\w\\-.~!$&'()*+,;=:@%]*";

/** Excludes the apostrophe, which the parser escapes in a query. */
const QUERY = '[\\w\\-.~!$&()*+,;=:@/?%]+';

// Each repetition ends at a character that it can't contain, so a mismatch takes linear time.
const CANONICAL_BUT_FOR_ESCAPES = new RegExp(
  `^https?://${ORDINARY_HOST}(?:/(?:${SEGMENT})?)+(?:\\?${QUERY})?$`,
);
const WITHOUT_PATH = new RegExp(`^https?://${ORDINARY_HOST}$`);

/** A `%` that doesn't start an upper-case escape of a character that needs one. */
const UNCANONICAL_ESCAPE = /%(?![01][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF]|[89A-F][0-9A-F])/;

/**
 * A fragment that the rules certainly drop. The parser removes tabs before it looks for `#!`, so only visible ASCII
 * qualifies.
 */
const PLAIN_FRAGMENT = /^#(?![!/])[!-~]*$/;

/** In characters. Limits the stack that the regular expressions use. */
const MAX_LENGTH = 4_096;

/** No label in a URL up to this length can be too long, so most URLs' hosts need no check. */
const MAX_LENGTH_OF_ANY_HOST = 'http://'.length + 63;

const LONG_HOST = /^https?:\/\/[^/#]{64}/;

/**
 * Returns the key under base profile `strict`, or undefined if the scan can't decide. The key is usually the input
 * string itself. The scan adds a missing path, and cuts a plain fragment unless `keepFragments` is true.
 */
export function scanCanonical(url: string, keepFragments = false): string | undefined {
  if (url.length > MAX_LENGTH_OF_ANY_HOST && (url.length > MAX_LENGTH || LONG_HOST.test(url))) {
    return undefined;
  }
  if (isCanonical(url)) return url;
  if (WITHOUT_PATH.test(url)) return `${url}/`;
  const hash = url.indexOf('#');
  if (keepFragments || hash === -1 || !PLAIN_FRAGMENT.test(url.slice(hash))) return undefined;
  const rest = url.slice(0, hash);
  return isCanonical(rest) ? rest : undefined;
}

function isCanonical(url: string): boolean {
  return CANONICAL_BUT_FOR_ESCAPES.test(url) && !(url.includes('%') && UNCANONICAL_ESCAPE.test(url));
}
