/**
 * Session ids, as far as name and value together show one. A `sid` may also be a story id, so the names alone prove
 * nothing, and `?sid=12` stays.
 *
 * They are part of profile version 1. They are never edited; a change needs another version.
 */

/** Names that by convention of their server are a session (Java servlets, PHP). */
const SERVER_NAMES = new Set(['jsessionid', 'phpsessid']);

/** Names that are often a session. */
const COMMON_NAMES = new Set([
  ...['sid', '_sid', 'sessid', 'sess_id', 'sessionid', '_sessionid', 'session_id', '_session_id'],
  ...['oscsid', 'zenid'],
]);

/**
 * At least 20 random characters with a digit and a letter among them, then perhaps the name of the server that holds
 * the session: `.node1`, `!-1234!5678`, `:14abc`. That punctuation may be escaped.
 */
const SERVER_VALUE =
  /^(?=[^0-9]*[0-9])(?=[^a-z]*[a-z])(?:[0-9a-z_,-]|%2C){20,256}(?:(?:[.:!~]|%21|%3A)(?:[0-9a-z_.:!~-]|%21|%3A)*)?$/i;

/** At least 26 letters and digits, with four digits and a letter among them: PHP's 26, MD5's 32 and longer. */
const COMMON_VALUE = /^(?=(?:[^0-9]*[0-9]){4})(?=[^a-z]*[a-z])[0-9a-z]{26,256}$/i;

/** Classic ASP: eight letters of the process in the name, 24 letters in the value. */
const ASP_NAME = /^aspsessionid[a-z]{8}$/;
const ASP_VALUE = /^[a-z]{24}$/i;

/**
 * ColdFusion, which always gives both: a number, and a token. The token is eight digits or a UUID of ColdFusion's own
 * form, perhaps with 16 digits before it.
 */
const CFID = /^cfid=[0-9]{1,12}$/i;
const CFTOKEN = /^cftoken=(?:[0-9]{8}|(?:[0-9a-f]{16}-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{16})$/i;

/** ASP.NET's name, with the value 1, while it finds out whether a client takes cookies. */
const ASP_NET_PROBE = 'aspxautodetectcookiesupport';

/** ASP.NET without cookies: a path segment of lettered tickets, `(A(…)S(…)F(…))`. */
const ASP_NET_SEGMENT = /^\((?:[A-Z]\([^()]*\))+\)$/;

/**
 * Tickets that are dropped: a session's 24 characters, or the much longer ticket of an anonymous visitor or a login.
 */
const ASP_NET_TICKET = /S\([0-9a-z]{24}\)|[AF]\((?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[0-9A-Za-z_-]{32,}\)/;

/** ASP.NET 1 writes the session alone, in its alphabet of 32 characters, with a digit and a letter. */
const ASP_NET_1_SEGMENT = /^\((?=[a-z]*[0-5])(?=[0-5]*[a-z])[a-z0-5]{24}\)$/;

/** Nothing that is part of a session is shorter, except a `cfid`. Most parameters are shorter. */
const SHORTEST = 'cftoken=12345678'.length;

/** The parameters (`name=value`) that are not part of a session. Names are compared without regard to case. */
export function withoutSessionParams(params: readonly string[]): string[] {
  const coldFusion = params.some(isCfToken) && params.some((param) => CFID.test(param));
  return params.filter(
    (param) => !isSessionParam(param) && !(coldFusion && (CFID.test(param) || isCfToken(param))),
  );
}

function isCfToken(param: string): boolean {
  return param.length >= SHORTEST && CFTOKEN.test(param);
}

/** Whether name and value both look like a session. */
function isSessionParam(param: string): boolean {
  if (param.length < SHORTEST) return false;
  const equals = param.indexOf('=');
  if (equals === -1) return false;
  const name = param.slice(0, equals).toLowerCase();
  const value = param.slice(equals + 1);
  if (SERVER_NAMES.has(name)) return SERVER_VALUE.test(value);
  if (COMMON_NAMES.has(name)) return COMMON_VALUE.test(value);
  if (name === ASP_NET_PROBE) return value === '1';
  return ASP_NAME.test(name) && ASP_VALUE.test(value);
}

/** The path without session parameters (`/a;jsessionid=…`) and without ASP.NET's segments (`/(S(…))/a`). */
export function withoutSessions(path: string): string {
  if (!path.includes(';') && !path.includes('/(')) return path;
  const segments = path.split('/').map(withoutParamsOfSessions);
  return segments.filter((segment, i) => i === segments.length - 1 || !isAspNetSegment(segment)).join('/');
}

function isAspNetSegment(segment: string): boolean {
  if (!segment.startsWith('(')) return false;
  return (ASP_NET_SEGMENT.test(segment) && ASP_NET_TICKET.test(segment)) || ASP_NET_1_SEGMENT.test(segment);
}

/** A parameter stays if it keeps `.` or `..` from being a dot segment: without it the path would be another one. */
function withoutParamsOfSessions(segment: string): string {
  if (segment.length <= SHORTEST || !segment.includes(';')) return segment;
  const [name = '', ...params] = segment.split(';');
  const kept = [name, ...withoutSessionParams(params)].join(';');
  return kept === '.' || kept === '..' ? segment : kept;
}
