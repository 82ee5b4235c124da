import { canonicalEscapes } from './escapes.js';
import { InvalidUrl, type InvalidUrlReason, invalidUrl } from './invalid-url.js';

/**
 * The slow path: the key under the base profile `strict`, by way of the built-in parser (S2).
 *
 * A relative `url` is resolved against `base`. A base that is itself unusable matters only to a URL that needs one.
 */
export function parseCanonical(url: string, base?: string): string | InvalidUrl {
  if (!url.isWellFormed()) return invalidUrl('lone surrogate');
  const parsed = resolve(url, base);
  if (parsed === undefined) return invalidUrl(reasonOfFailure(url, base));
  const { href } = parsed;
  if (!isHttp(href)) return invalidUrl('scheme not http or https');

  // The first slash after the scheme and at least one character of a host; the parser has put it there if need be.
  const pathAt = href.indexOf('/', 'http://h'.length);
  const authority = canonicalAuthority(href.slice(0, pathAt));
  if (authority === undefined) return invalidUrl('no host');
  return authority + withoutDotSegments(canonicalEscapes(keptParts(href, pathAt)));
}

function resolve(url: string, base: string | undefined): URL | undefined {
  if (base === undefined) return tryParse(url);
  return (base.isWellFormed() ? tryParse(url, base) : undefined) ?? tryParse(url);
}

/**
 * Asks first: an exception costs some 10 µs, a hundred times as much, and callers decide how many URLs are bad. But only
 * about ASCII: once optimised, `URL.canParse` of Node 20 takes the bytes of a Latin-1 string for UTF-8 and refuses
 * `http://bücher.de/`.
 */
function tryParse(url: string, base?: string): URL | undefined {
  if (isAscii(url) && (base === undefined || isAscii(base))) {
    // An explicit undefined costs as much as the parser itself.
    if (base === undefined) return URL.canParse(url) ? new URL(url) : undefined;
    return URL.canParse(url, base) ? new URL(url, base) : undefined;
  }
  try {
    return new URL(url, base);
  } catch {
    return undefined;
  }
}

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

function isHttp(href: string): boolean {
  return href.startsWith('https:') || href.startsWith('http:');
}

/**
 * Scheme, userinfo (S3), host and port as the parser wrote them, less one trailing dot of the host (S4). Of two trailing
 * dots none is removed: such a name cannot be resolved, and removing one would make a key that is not its own key.
 *
 * Undefined: a host of nothing but dots.
 */
function canonicalAuthority(authority: string): string | undefined {
  if (!authority.includes('@') && !authority.includes('.:') && !authority.endsWith('.')) return authority;
  const hostAt = Math.max(authority.indexOf('//') + 2, authority.indexOf('@') + 1);
  const host = authority.slice(hostAt);
  if (/^\.+(?::|$)/.test(host)) return undefined;
  return canonicalEscapes(authority.slice(0, hostAt)) + host.replace(/(?<!\.)\.(?=(?::\d+)?$)/, '');
}

/** Path, query and fragment, without an empty query (S10) and without a fragment that only points into a page (S12). */
function keptParts(href: string, pathAt: number): string {
  const hash = href.indexOf('#', pathAt);
  const fragmentAt = hash === -1 ? href.length : hash;
  const emptyQuery = href.indexOf('?', pathAt) === fragmentAt - 1;
  const pathAndQuery = href.slice(pathAt, emptyQuery ? fragmentAt - 1 : fragmentAt);
  return /^#[!/]/.test(href.slice(fragmentAt, fragmentAt + 2))
    ? pathAndQuery + href.slice(fragmentAt)
    : pathAndQuery;
}

/**
 * The parser has resolved dot segments, but not all: up to Ada 3.2.2 (Node 20) it leaves those after a segment like `.a`
 * (ada-url/ada#935). Done here, so that a key does not depend on the version of Node.
 */
function withoutDotSegments(text: string): string {
  if (!text.includes('/.') || !DOT_SEGMENT.test(text)) return text;
  const end = text.search(/[?#]|$/);
  const segments = text.slice(0, end).split('/');
  const kept: string[] = [];
  for (const [i, segment] of segments.entries()) {
    const dots = segment === '.' || segment === '..';
    // The first is the empty string before the leading slash.
    if (segment === '..' && kept.length > 1) kept.pop();
    if (!dots) kept.push(segment);
    else if (i === segments.length - 1) kept.push('');
  }
  return kept.join('/') + text.slice(end);
}

const DOT_SEGMENT = /^[^?#]*\/\.\.?(?:[/?#]|$)/;

/** Why the parser refused, found out afterwards, so that good URLs do not pay for it. */
function reasonOfFailure(url: string, base: string | undefined): InvalidUrlReason {
  // What the parser itself removes before it looks.
  const text = url.replace(/^[\0-\x20]+/, '').replace(/[\t\n\r]+/g, '');
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0].toLowerCase();
  if (scheme === undefined) {
    if (base === undefined) return text === '' ? 'empty' : 'not absolute';
    if (!isUsableBase(base)) return 'invalid base';
  } else if (scheme !== 'http:' && scheme !== 'https:') {
    return 'scheme not http or https';
  }
  const rest = text.replace(/^(?:https?:)?[/\\]*/i, '');
  if (/^(?:[^/\\?#]*@)?(?::\d*)?(?:[/\\?#]|[\0-\x20]*$)/.test(rest)) return 'no host';
  const authority = /^[^/\\?#]*/.exec(rest)?.[0].trimEnd() ?? '';
  const port = /:([^:@\]]*)$/.exec(authority)?.[1] ?? '';
  return /^\d*$/.test(port) && Number(port) <= 65_535 ? 'invalid host' : 'invalid port';
}

function isUsableBase(base: string): boolean {
  const parsed = base.isWellFormed() ? tryParse(base) : undefined;
  return parsed !== undefined && isHttp(parsed.href);
}
