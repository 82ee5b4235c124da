/**
 * Rules S5 to S9 for one component of a URL: which characters stay plain and which become `%XX`. Bytes are never
 * decoded to another encoding. `%E9` (Latin-1) and `%C3%A9` (UTF-8) stay different, because a site that doesn't use
 * UTF-8 distinguishes them.
 */

const UNRESERVED = /[A-Za-z0-9\-._~]/;

/**
 * For each byte, the canonical form of its escape: the plain character if unreserved (S6), otherwise upper-case `%XX`
 * (S7).
 */
const ESCAPE_OF_BYTE: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return UNRESERVED.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/**
 * Matches text that needs no escaping, like most components. This test is much cheaper than a replacement without a
 * match.
 */
const NEEDS_NONE = /^[\w\-.~!$&'()*+,;=:@/?#]*$/;

/** An escape whose percent sign `encodeURI` has escaped. */
const ESCAPE_ESCAPED = /%25[0-9A-Fa-f]{2}/g;

/** The canonical form of each such escape, for both cases of each digit. */
const CANONICAL = new Map(
  Array.from('0123456789abcdefABCDEF').flatMap((high, _, digits) =>
    digits.map((low) => [`%25${high}${low}`, ESCAPE_OF_BYTE[Number.parseInt(high + low, 16)] ?? '']),
  ),
);

/**
 * Writes a component's escapes in canonical form. `text` must be well-formed Unicode.
 *
 * `encodeURI` escapes all characters that a URI can't contain (S8) and every percent sign, including stray ones (S5).
 * It leaves the apostrophe, which is a sub-delimiter. The replacement then restores the original escapes in canonical
 * form, each one once, so `%2541` stays `%2541`. The function is idempotent.
 */
export function canonicalEscapes(text: string): string {
  if (NEEDS_NONE.test(text)) return text;
  const escaped = encodeURI(text);
  if (!text.includes('%')) return escaped;
  return escaped.replace(ESCAPE_ESCAPED, (match) => CANONICAL.get(match) ?? match);
}

/** Reserved characters, except `+`. */
const RESERVED = /[!$&'()*,;=:@/?]/g;

const HAS_NONE = /^[^!$&'()*,;=:@/?+]*$/;

/**
 * Canonicalises one query name or value under form encoding: `+` is a space, and an escaped reserved character equals
 * the plain one. Input and output have canonical escapes. Only the spelling of bytes changes.
 */
export function formEscapes(text: string): string {
  if (HAS_NONE.test(text)) return text;
  return text.replace(RESERVED, (char) => ESCAPE_OF_BYTE[char.charCodeAt(0)] ?? char).replaceAll('+', '%20');
}
