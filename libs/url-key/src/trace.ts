import { readHost, withoutTrailingDot } from './host.js';
import { DEFAULT_PORTS, SCHEME, withoutBlanks, withoutDotSegments } from './parse.js';

/** One rule's change to a URL. */
export interface Step {
  /** S1 to S12, or the profile member that enables the rule. */
  readonly rule: string;
  readonly before: string;
  readonly after: string;
}

/** A URL while rules S2 to S12 are applied. Userinfo, path, query and fragment contain escapes. */
interface Parts {
  readonly scheme: string;
  readonly user: string;
  readonly password: string;
  readonly host: string;
  readonly port: string;
  readonly path: string;
  /** Excludes the question mark. */
  readonly query: string | undefined;
  /** Excludes the hash. */
  readonly fragment: string | undefined;
}

/**
 * Applies the rules of base profile `strict` one by one. It is the slow path from parse.ts, taken apart so that each
 * rule has a text before and after it. `url` must have a key.
 */
export function traceReading(url: string, keepFragments = false): Step[] {
  const steps: Step[] = [];
  let before = url;
  let parts: Parts;
  const note = (rule: string, next: Parts): void => {
    const after = textOf(next);
    if (after !== before) steps.push({ rule, before, after });
    [before, parts] = [after, next];
  };
  note('S2', (parts = read(url)));
  note('S4', { ...parts, host: withoutTrailingDot(parts.host) });
  if (!isKept(parts.fragment, keepFragments)) note('S12', { ...parts, fragment: undefined });
  note('S5', onTexts(parts, escapeStray));
  note('S6', onTexts(parts, unescapeUnreserved));
  note('S7', onTexts(parts, upperCaseEscapes));
  note('S8', onTexts(parts, escapeForbidden));
  // By now, escaped dots are plain dots.
  note('S2', { ...parts, path: withoutDotSegments(parts.path) || '/' });
  if (parts.query === '') note('S10', { ...parts, query: undefined });
  return steps;
}

/** Parses the URL as the URL standard does: all of S2 except dot segments. */
function read(url: string): Parts {
  const text = withoutBlanks(url);
  const scheme = (SCHEME.exec(text)?.[0] ?? '').toLowerCase();
  const rest = text.slice(scheme.length).replace(/^[/\\]+/, '');
  const end = rest.search(/[/\\?#]|$/);
  const [authority, behind] = [rest.slice(0, end), rest.slice(end)];
  const at = authority.lastIndexOf('@');
  const [userinfo, hostAndPort] = [authority.slice(0, Math.max(0, at)), authority.slice(at + 1)];
  const [user, password] = splitAt(userinfo, userinfo.indexOf(':'));
  const inBrackets = hostAndPort.startsWith('[') ? hostAndPort.indexOf(']') : 0;
  const [written, port = ''] = splitAt(hostAndPort, hostAndPort.indexOf(':', inBrackets));
  const host = readHost(written);
  const [withoutFragment, fragment] = splitAt(behind, behind.indexOf('#'));
  const [path, query] = splitAt(withoutFragment, withoutFragment.indexOf('?'));
  return {
    scheme,
    user,
    password: password ?? '',
    host: typeof host === 'string' ? host : written,
    port: port === '' || Number(port) === DEFAULT_PORTS[scheme] ? '' : `:${Number(port)}`,
    path: path.replaceAll('\\', '/') || '/',
    query,
    fragment,
  };
}

/** The texts before and after the character at an index. -1 means that the character is missing. */
function splitAt(text: string, at: number): [before: string, behind: string | undefined] {
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function textOf({ scheme, user, password, host, port, path, query, fragment }: Parts): string {
  const userinfo = password === '' ? user : `${user}:${password}`;
  return (
    `${scheme}//${userinfo === '' ? '' : `${userinfo}@`}${host}${port}${path}` +
    (query === undefined ? '' : `?${query}`) +
    (fragment === undefined ? '' : `#${fragment}`)
  );
}

/** Rule S12. */
function isKept(fragment: string | undefined, keepFragments: boolean): boolean {
  return fragment !== undefined && fragment !== '' && (keepFragments || /^[!/]/.test(fragment));
}

type Component = 'user' | 'path' | 'query' | 'fragment';

/** Applies an escape rule to each component that contains escapes. */
function onTexts(parts: Parts, rule: (text: string, component: Component) => string): Parts {
  const { user, password, path, query, fragment } = parts;
  return {
    ...parts,
    user: rule(user, 'user'),
    password: rule(password, 'user'),
    path: rule(path, 'path'),
    query: query === undefined ? undefined : rule(query, 'query'),
    fragment: fragment === undefined ? undefined : rule(fragment, 'fragment'),
  };
}

const ESCAPE = /%[0-9A-Fa-f]{2}/g;

/** Rule S5. */
function escapeStray(text: string): string {
  return text.replace(/%(?![0-9A-Fa-f]{2})/g, '%25');
}

/** Rule S6. */
function unescapeUnreserved(text: string): string {
  return text.replace(ESCAPE, (escape) => {
    const char = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9\-._~]/.test(char) ? char : escape;
  });
}

/** Rule S7. */
function upperCaseEscapes(text: string): string {
  return text.replace(ESCAPE, (escape) => escape.toUpperCase());
}

/** Characters that a component escapes even though a URI may contain them. */
const ALSO: Readonly<Record<Component, RegExp | undefined>> = {
  user: /[:;=@]/g,
  path: undefined,
  query: /'/g,
  fragment: undefined,
};

/** Rule S8. By now every `%` begins an escape, which stays. */
function escapeForbidden(text: string, component: Component): string {
  const escaped = encodeURI(text).replaceAll('%25', '%');
  const also = ALSO[component];
  if (!also) return escaped;
  return escaped.replace(also, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
