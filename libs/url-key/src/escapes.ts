/**
 * Rules S5 to S9 on one component of a URL: which characters are written plainly, and which as `%XX`.
 *
 * Bytes are never re-interpreted. `%E9` (Latin-1) and `%C3%A9` (UTF-8) stay different, because a site that is not UTF-8
 * distinguishes them.
 */

const UNRESERVED = /[A-Za-z0-9\-._~]/;

/**
 * For each byte, the canonical form of its escape: the character itself if unreserved (S6), else upper-case `%XX` (S7).
 */
const ESCAPE_OF_BYTE: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return UNRESERVED.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/**
 * Text without anything to escape, as most components are. This test is much cheaper than a replacement that replaces
 * nothing.
 */
const NEEDS_NONE = /^[\w\-.~!$&'()*+,;=:@/?#]*$/;

/** An escape after `encodeURI`, which escapes the percent sign once more. */
const ESCAPE_ESCAPED = /%25[0-9A-Fa-f]{2}/g;

/** The canonical form of each such escape, for both cases of each digit. */
const CANONICAL = new Map(
  Array.from('0123456789abcdefABCDEF').flatMap((high, _, digits) =>
    digits.map((low) => [`%25${high}${low}`, ESCAPE_OF_BYTE[Number.parseInt(high + low, 16)] ?? '']),
  ),
);

/**
 * The component with its escapes in canonical form. `text` is well-formed Unicode.
 *
 * `encodeURI` escapes what no URI may contain (S8) and every percent sign; for stray ones (S5) that is the result. It
 * leaves the apostrophe, a sub-delimiter. What was an escape before is then restored in its canonical form. Each is
 * handled once, so `%2541` stays `%2541`: the result is not decoded again. A second call changes nothing.
 */
export function canonicalEscapes(text: string): string {
  if (NEEDS_NONE.test(text)) return text;
  const escaped = encodeURI(text);
  if (!text.includes('%')) return escaped;
  return escaped.replace(ESCAPE_ESCAPED, (match) => CANONICAL.get(match) ?? match);
}

/** Reserved characters written plainly, without `+`. */
const RESERVED = /[!$&'()*,;=:@/?]/g;

const HAS_NONE = /^[^!$&'()*,;=:@/?+]*$/;

/**
 * One query name or value under form encoding. `+` is a space, and an escaped reserved character equals the plain one.
 * Input and output have canonical escapes. A byte is never decoded, only written in one way.
 */
export function formEscapes(text: string): string {
  if (HAS_NONE.test(text)) return text;
  return text.replace(RESERVED, (char) => ESCAPE_OF_BYTE[char.charCodeAt(0)] ?? char).replaceAll('+', '%20');
}
