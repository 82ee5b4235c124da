/**
 * Session ids, recognised by name and value together. A `sid` can be a story id, so a name alone proves nothing and
 * `?sid=12` stays. The patterns are part of profile version 1. Never edit them, but add another version.
 */

/** Names that servers use only for sessions (Java servlets, PHP). */
const SERVER_NAMES = new Set(['jsessionid', 'phpsessid']);

/** Names that often mean a session. */
const COMMON_NAMES = new Set([
  ...['sid', '_sid', 'sessid', 'sess_id', 'sessionid', '_sessionid', 'session_id', '_session_id'],
  ...['oscsid', 'zenid'],
]);

/**
 * At least 20 random characters, including a digit and a letter, optionally followed by the session's server: `.node1`,
 * `!-1234!5678`, `:14abc`. Its punctuation may be escaped.
 */
const SERVER_VALUE =
  /^(?=[^0-9]*[0-9])(?=[^a-z]*[a-z])(?:[0-9a-z_,-]|%2C){20,256}(?:(?:[.:!~]|%21|%3A)(?:[0-9a-z_.:!~-]|%21|%3A)*)?$/i;

/** At least 26 letters and digits, including four digits and a letter: PHP's 26, MD5's 32, and longer ids. */
const COMMON_VALUE = /^(?=(?:[^0-9]*[0-9]){4})(?=[^a-z]*[a-z])[0-9a-z]{26,256}$/i;

/** Classic ASP: the name ends in eight letters that identify the process, and the value has 24 letters. */
const ASP_NAME = /^aspsessionid[a-z]{8}$/;
const ASP_VALUE = /^[a-z]{24}$/i;

/**
 * ColdFusion always sends both: a number and a token. The token is eight digits or a UUID in ColdFusion's own format,
 * optionally after 16 digits.
 */
const CFID = /^cfid=[0-9]{1,12}$/i;
const CFTOKEN = /^cftoken=(?:[0-9]{8}|(?:[0-9a-f]{16}-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{16})$/i;

/** ASP.NET sends this name with value 1 to find out whether a client accepts cookies. */
const ASP_NET_PROBE = 'aspxautodetectcookiesupport';

/** ASP.NET without cookies: a path segment of lettered tickets, `(A(…)S(…)F(…))`. */
const ASP_NET_SEGMENT = /^\((?:[A-Z]\([^()]*\))+\)$/;

/** The tickets to drop: a session's 24 characters, or the much longer ticket for an anonymous visitor or a login. */
const ASP_NET_TICKET = /S\([0-9a-z]{24}\)|[AF]\((?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[0-9A-Za-z_-]{32,}\)/;

/** ASP.NET 1 writes only the session, in its alphabet of 32 characters, with at least one digit and one letter. */
const ASP_NET_1_SEGMENT = /^\((?=[a-z]*[0-5])(?=[0-5]*[a-z])[a-z0-5]{24}\)$/;

/** The shortest session parameter except `cfid`. Most other parameters are shorter. */
const SHORTEST = 'cftoken=12345678'.length;

/** Returns the parameters (`name=value`) that aren't part of a session. Names are case-insensitive. */
export function withoutSessionParams(params: readonly string[]): string[] {
  const coldFusion = params.some(isCfToken) && params.some((param) => CFID.test(param));
  return params.filter(
    (param) => !isSessionParam(param) && !(coldFusion && (CFID.test(param) || isCfToken(param))),
  );
}

function isCfToken(param: string): boolean {
  return param.length >= SHORTEST && CFTOKEN.test(param);
}

/** True if both name and value look like a session. */
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

/** Removes session parameters (`/a;jsessionid=…`) and ASP.NET's segments (`/(S(…))/a`) from a path. */
export function withoutSessions(path: string): string {
  if (!path.includes(';') && !path.includes('/(')) return path;
  const segments = path.split('/').map(withoutParamsOfSessions);
  return segments.filter((segment, i) => i === segments.length - 1 || !isAspNetSegment(segment)).join('/');
}

function isAspNetSegment(segment: string): boolean {
  if (!segment.startsWith('(')) return false;
  return (ASP_NET_SEGMENT.test(segment) && ASP_NET_TICKET.test(segment)) || ASP_NET_1_SEGMENT.test(segment);
}

/** Keeps a parameter if removing it would turn `.` or `..` into a dot segment, which would change the path. */
function withoutParamsOfSessions(segment: string): string {
  if (segment.length <= SHORTEST || !segment.includes(';')) return segment;
  const [name = '', ...params] = segment.split(';');
  const kept = [name, ...withoutSessionParams(params)].join(';');
  return kept === '.' || kept === '..' ? segment : kept;
}
