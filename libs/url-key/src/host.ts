import { toASCII, toUnicode } from 'tr46';
import { type InvalidUrl, invalidUrl } from './invalid-url.js';
import { canonicalIpv4, canonicalIpv6, endsInNumber } from './ip-address.js';
import { ORDINARY_HOST } from './scan.js';

/** The DNS limits for a name, in ASCII bytes after IDNA, without the trailing dot. */
const MAX_HOST_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;

/**
 * Limits in UTF-16 code units before IDNA, whose cost grows faster than linearly. They apply to a name both as written
 * and after compatibility normalisation (NFKC), in which one ligature can become 18 characters. They are twice the DNS
 * limits: characters beyond the BMP take two units, accents can be separate characters, and IDNA removes some
 * characters.
 */
const MAX_WRITTEN_HOST_LENGTH = 2 * MAX_HOST_LENGTH;
const MAX_WRITTEN_LABEL_LENGTH = 2 * MAX_LABEL_LENGTH;

/** The limit for percent-encoded UTF-8, where a code unit takes at most three escapes. */
const MAX_ESCAPED_HOST_LENGTH = 9 * MAX_WRITTEN_HOST_LENGTH;

/** A short, already canonical host, like nearly all hosts. */
const ORDINARY = new RegExp(`^${ORDINARY_HOST}$`);

/** The characters that IDNA treats as a dot. */
const DOT = /[.\u3002\uff0e\uff61]/;

/** The percent sign, and ASCII that the URL standard forbids in both domains and addresses. */
const FORBIDDEN = /[^!-~]|[#%/:<>?@[\\\]^|]/;

/**
 * Combining marks added by Unicode 17. Older Node versions normalise them in a different order, so a host with one of
 * them would have two keys.
 */
const RECENT_MARKS =
  /[\u1acf-\u1add\u1ae0-\u1aeb\u{10efa}\u{10efb}\u{1e6e3}\u{1e6e6}\u{1e6ee}\u{1e6ef}\u{1e6f5}]/u;

/** The UTS 46 options that the URL standard prescribes. */
const IDNA = { checkBidi: true, checkJoiners: true };

/**
 * Returns a host's canonical form: lower-case ASCII after IDNA, or an address in its only canonical form. Removes a
 * single trailing dot (S4). A name with two can't be resolved, and removing only one of them would give a host whose
 * own canonical form differs.
 *
 * Doesn't use the runtime's parser, because every key would then depend on its Unicode version (see docs/decisions.md).
 */
export function canonicalHost(text: string): string | InvalidUrl {
  const host = readHost(text);
  return typeof host === 'string' ? withoutTrailingDot(host) : host;
}

/** Rule S4. */
export function withoutTrailingDot(host: string): string {
  return host.endsWith('.') && !host.endsWith('..') ? host.slice(0, -1) : host;
}

/** Like canonicalHost, but without S4. */
export function readHost(text: string): string | InvalidUrl {
  if (text === '') return invalidUrl('no host');
  if (text.length <= MAX_LABEL_LENGTH && ORDINARY.test(text)) return text;
  if (text.startsWith('[')) {
    const address = text.endsWith(']') ? canonicalIpv6(text.slice(1, -1)) : undefined;
    return address === undefined ? invalidUrl('invalid host') : `[${address}]`;
  }
  if (text.length > MAX_ESCAPED_HOST_LENGTH) return invalidUrl('host too long');
  const written = percentDecoded(text);
  if (written === undefined) return invalidUrl('invalid host');
  if (!isWithin(written, MAX_WRITTEN_HOST_LENGTH, MAX_WRITTEN_LABEL_LENGTH)) {
    return invalidUrl('host too long');
  }
  const name = isPlainAscii(written) ? written.toLowerCase() : inAscii(written);
  if (typeof name !== 'string') return name;
  if (name === '' || FORBIDDEN.test(name)) return invalidUrl('invalid host');
  if (/^\.+$/.test(name)) return invalidUrl('no host');
  if (!isWithin(name, MAX_HOST_LENGTH, MAX_LABEL_LENGTH)) return invalidUrl('host too long');
  if (endsInNumber(name)) return canonicalIpv4(name) ?? invalidUrl('invalid host');
  return name;
}

/** Decodes percent escapes. Undefined if the resulting bytes aren't UTF-8. */
function percentDecoded(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function isWithin(name: string, hostLength: number, labelLength: number): boolean {
  const end = DOT.test(name.slice(-1)) ? name.length - 1 : name.length;
  return end <= labelLength || (end <= hostLength && name.split(DOT).every((l) => l.length <= labelLength));
}

/** True if a name is ASCII that IDNA only changes to lower case. */
function isPlainAscii(name: string): boolean {
  return !/[^\0-\x7f]|xn--/i.test(name);
}

/** Returns the name after IDNA. */
function inAscii(name: string): string | InvalidUrl {
  if (RECENT_MARKS.test(name)) return invalidUrl('invalid host');
  if (!isWithin(name.normalize('NFKC'), MAX_WRITTEN_HOST_LENGTH, MAX_WRITTEN_LABEL_LENGTH)) {
    return invalidUrl('host too long');
  }
  const ascii = toASCII(name, IDNA);
  const hidden = ascii !== null && /xn--/i.test(name) && RECENT_MARKS.test(toUnicode(ascii, IDNA).domain);
  return ascii === null || hidden ? invalidUrl('invalid host') : ascii;
}
