/**
 * Rules S5 to S9 on one component of a URL: which characters are written plainly, which as `%XX`.
 *
 * Bytes are never re-interpreted: `%E9` (Latin-1) and `%C3%A9` (UTF-8) stay two different things, because a site that is
 * not UTF-8 tells them apart.
 */

const UNRESERVED = /[A-Za-z0-9\-._~]/;

/** For each byte, what its escape becomes: the character itself if unreserved (S6), else upper-case `%XX` (S7). */
const ESCAPE_OF_BYTE: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return UNRESERVED.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/** An escape, a stray `%`, or a character that no URI may contain (S8). The apostrophe may: it is a sub-delimiter. */
const NEEDS_WORK = /%(?:[0-9A-Fa-f]{2})?|["<>[\]\\^`{|}]|[^!-~]/gu;

/** Nothing to do, as for most components. Much cheaper to find out than a replacement that replaces nothing. */
const NEEDS_NONE = /^[\w\-.~!$&'()*+,;=:@/?#]*$/;

function canonicalEscape(match: string): string {
  if (match === '%') return '%25';
  if (match.startsWith('%')) return ESCAPE_OF_BYTE[Number.parseInt(match.slice(1), 16)] ?? match;
  const code = match.charCodeAt(0);
  return code < 0x80 ? (ESCAPE_OF_BYTE[code] ?? match) : encodeURIComponent(match);
}

/**
 * The component with its escapes in canonical form. `text` is well-formed Unicode.
 *
 * One pass, so `%2541` stays `%2541`: the result is not decoded again. A second call changes nothing.
 */
export function canonicalEscapes(text: string): string {
  return NEEDS_NONE.test(text) ? text : text.replace(NEEDS_WORK, canonicalEscape);
}

/** A reserved character written plainly, `+` apart. */
const RESERVED = /[!$&'()*,;=:@/?]/g;

/**
 * One query name or value under form encoding: `+` is a space, and an escaped reserved character is the same as the plain
 * one. Expects and gives canonical escapes; a byte is never decoded, only written one way.
 */
export function formEscapes(text: string): string {
  return text.replace(RESERVED, (char) => ESCAPE_OF_BYTE[char.charCodeAt(0)] ?? char).replaceAll('+', '%20');
}
