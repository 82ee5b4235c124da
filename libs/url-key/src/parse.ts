import { canonicalEscapes } from './escapes.js';
import { canonicalHost } from './host.js';
import { InvalidUrl, invalidUrl } from './invalid-url.js';

/** The parts of an http or https URL, each in canonical form. */
interface Parts {
  /** Includes the colon. */
  readonly scheme: string;
  /** Userinfo (S3), host and port. */
  readonly authority: string;
  /** Includes the leading slash. */
  readonly path: string;
  /** Excludes the question mark. An empty query means no query (S10). */
  readonly query: string;
  /** Excludes the hash. */
  readonly fragment: string;
}

export const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

export const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/**
 * The slow path. Computes the key under base profile `strict`, and parses http and https URLs as the URL standard does
 * (S2). Drops fragments that only point into a page (S12), or none if `keepFragments` is true. Resolves a relative
 * `url` against `base`. An invalid base matters only if `url` needs one.
 */
export function parseCanonical(url: string, base?: string, keepFragments = false): string | InvalidUrl {
  const parts = read(url, base);
  if (parts instanceof InvalidUrl) return parts;
  const { scheme, authority, path, query, fragment } = parts;
  const kept = fragment !== '' && (keepFragments || /^[!/]/.test(fragment));
  return `${scheme}//${authority}${path}${query && `?${query}`}${kept ? `#${fragment}` : ''}`;
}

function read(url: string, base: string | undefined): Parts | InvalidUrl {
  if (!url.isWellFormed()) return invalidUrl('lone surrogate');
  const text = withoutBlanks(url);
  const scheme = SCHEME.exec(text)?.[0].toLowerCase();
  if (scheme !== undefined && !(scheme in DEFAULT_PORTS)) return invalidUrl('scheme not http or https');
  const rest = text.slice(scheme?.length);
  const from = base === undefined ? undefined : read(base, undefined);
  if (scheme === undefined) {
    if (from === undefined) return invalidUrl(text === '' ? 'empty' : 'not absolute');
    return from instanceof InvalidUrl ? invalidUrl('invalid base') : readRelative(rest, from);
  }
  // `http:a` is relative if the base is an http URL.
  const related = from !== undefined && !(from instanceof InvalidUrl) && from.scheme === scheme;
  return related ? readRelative(rest, from) : readAbsolute(scheme, rest);
}

/** Strips spaces and control characters from both ends, and removes all tabs and line breaks. */
export function withoutBlanks(url: string): string {
  let start = 0;
  let end = url.length;
  while (start < end && url.charCodeAt(start) <= 0x20) start++;
  while (end > start && url.charCodeAt(end - 1) <= 0x20) end--;
  return url.slice(start, end).replace(/[\t\n\r]+/g, '');
}

function readAbsolute(scheme: string, text: string): Parts | InvalidUrl {
  const rest = text.replace(/^[/\\]+/, '');
  const end = rest.search(/[/\\?#]|$/);
  const authority = canonicalAuthority(scheme, rest.slice(0, end));
  if (authority instanceof InvalidUrl) return authority;
  const { path, query = '', fragment } = split(rest.slice(end));
  return { scheme, authority, path: canonicalPath(path), query: canonicalQuery(query), fragment };
}

function readRelative(text: string, base: Parts): Parts | InvalidUrl {
  if (/^[/\\]{2}/.test(text)) return readAbsolute(base.scheme, text);
  const { path, query, fragment } = split(text);
  if (path === '')
    return { ...base, query: query === undefined ? base.query : canonicalQuery(query), fragment };
  const directory = /^[/\\]/.test(path) ? '' : base.path.slice(0, base.path.lastIndexOf('/') + 1);
  return { ...base, path: canonicalPath(directory + path), query: canonicalQuery(query ?? ''), fragment };
}

/** Splits the text after the authority. Returns the fragment in canonical form. */
function split(text: string): { path: string; query?: string; fragment: string } {
  const hash = text.indexOf('#');
  const fragment = hash === -1 ? '' : canonicalEscapes(text.slice(hash + 1));
  const rest = hash === -1 ? text : text.slice(0, hash);
  const question = rest.indexOf('?');
  if (question === -1) return { path: rest, fragment };
  return { path: rest.slice(0, question), query: rest.slice(question + 1), fragment };
}

function canonicalAuthority(scheme: string, text: string): string | InvalidUrl {
  const at = text.lastIndexOf('@');
  const hostAndPort = text.slice(at + 1);
  const colon = hostAndPort.indexOf(':', hostAndPort.startsWith('[') ? hostAndPort.indexOf(']') : 0);
  const host = canonicalHost(colon === -1 ? hostAndPort : hostAndPort.slice(0, colon));
  if (host instanceof InvalidUrl) return host;
  const port = colon === -1 ? '' : hostAndPort.slice(colon + 1);
  if (!/^\d*$/.test(port) || Number(port) > 65_535) return invalidUrl('invalid port');
  const shown = port === '' || Number(port) === DEFAULT_PORTS[scheme] ? '' : `:${Number(port)}`;
  return (at === -1 ? '' : canonicalUserinfo(text.slice(0, at))) + host + shown;
}

/** The userinfo with its `@`, or an empty string. The first colon ends the name. An empty password counts as none. */
function canonicalUserinfo(text: string): string {
  const colon = text.indexOf(':');
  const name = canonicalUser(colon === -1 ? text : text.slice(0, colon));
  const password = colon === -1 ? '' : canonicalUser(text.slice(colon + 1));
  const shown = password === '' ? name : `${name}:${password}`;
  return shown === '' ? '' : `${shown}@`;
}

/** Canonicalises a user name or password. Escapes the delimiters of userinfo in addition to the escapes of a path. */
function canonicalUser(text: string): string {
  const escaped = canonicalEscapes(text).replaceAll(':', '%3A').replaceAll(';', '%3B');
  return escaped.replaceAll('=', '%3D').replaceAll('@', '%40');
}

function canonicalPath(text: string): string {
  return withoutDotSegments(canonicalEscapes(text.replaceAll('\\', '/'))) || '/';
}

/** `path` is empty or begins with a slash. */
export function withoutDotSegments(path: string): string {
  if (!path.includes('/.')) return path;
  const segments = path.split('/');
  const kept: string[] = [];
  for (const [i, segment] of segments.entries()) {
    const dots = segment === '.' || segment === '..';
    // The first segment is the empty string before the leading slash.
    if (segment === '..' && kept.length > 1) kept.pop();
    if (!dots) kept.push(segment);
    else if (i === segments.length - 1) kept.push('');
  }
  return kept.join('/');
}

/** The standard escapes the apostrophe in queries only. */
function canonicalQuery(text: string): string {
  return canonicalEscapes(text).replaceAll("'", '%27');
}
