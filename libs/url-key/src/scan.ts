/**
 * The fast path. Nearly all real URLs are canonical already, and a regular expression that proves it costs a fraction
 * of what the parser does. It need not recognise every canonical URL, but it must never be wrong. Other URLs go to the
 * parser (parse.ts), and tests check that both give the same keys.
 */

/**
 * Lower-case labels, the last of which is not a number (it may be an IPv4 form). Some hosts that the parser may take
 * are refused: those with `--` (it may be Punycode, which must be checked), hyphens at the ends of a label, empty
 * labels, ports or userinfo.
 */
export const ORDINARY_HOST = '(?:[a-z0-9]+[.-])*[a-z][a-z0-9]*';

/** Characters that the rules leave alone. A segment does not begin with a dot, so it is not a dot segment. */
const SEGMENT = "[\\w\\-~!$&'()*+,;=:@%][\\w\\-.~!$&'()*+,;=:@%]*";

/** Without the apostrophe, which the parser escapes in a query. */
const QUERY = '[\\w\\-.~!$&()*+,;=:@/?%]+';

// Each repetition ends at a character that it cannot contain itself, so a mismatch takes linear time.
const CANONICAL_BUT_FOR_ESCAPES = new RegExp(
  `^https?://${ORDINARY_HOST}(?:/(?:${SEGMENT})?)+(?:\\?${QUERY})?$`,
);
const WITHOUT_PATH = new RegExp(`^https?://${ORDINARY_HOST}$`);

/** A `%` that does not begin an upper-case escape of a character that needs one. */
const UNCANONICAL_ESCAPE = /%(?![01][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF]|[89A-F][0-9A-F])/;

/**
 * A fragment that is certainly dropped. The parser removes tabs before it looks for `#!`, so only visible ASCII is
 * allowed.
 */
const PLAIN_FRAGMENT = /^#(?![!/])[!-~]*$/;

/** In characters. It limits the stack that the expressions need. */
const MAX_LENGTH = 4_096;

/** A URL of at most this length has no label that is too long, so most URLs need no check of their host. */
const MAX_LENGTH_OF_ANY_HOST = 'http://'.length + 63;

const LONG_HOST = /^https?:\/\/[^/#]{64}/;

/**
 * The key under the base profile `strict`, or undefined if the scan cannot tell. The key is usually the string that
 * came in. An absent path is completed. A plain fragment is cut unless `keepFragments` is set.
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
