/**
 * Session ids, as far as name and value together show one. A `sid` may as well be a story id, so the names alone prove
 * nothing; `?sid=12` stays.
 *
 * Part of profile version 1: not to be edited, only followed by another version.
 */

/** Names that are a session by convention of their server (Java servlets, PHP). */
const SERVER_NAMES = new Set(['jsessionid', 'phpsessid']);

/** Names that are often a session. */
const COMMON_NAMES = new Set(['sid', 'sessid', 'sess_id', 'sessionid', 'session_id', 'oscsid', 'zenid']);

/**
 * At least 20 random characters with a digit and a letter among them, then perhaps the name of the server that holds the
 * session: `.node1`, `!-1234!5678`, `:14abc`. Also with that punctuation escaped.
 */
const SERVER_VALUE =
  /^(?=[^0-9]*[0-9])(?=[^a-z]*[a-z])(?:[0-9a-z_,-]|%2C){20,256}(?:(?:[.:!~]|%21|%3A)(?:[0-9a-z_.:!~-]|%21|%3A)*)?$/i;

/** At least 26 letters and digits, with four digits and a letter among them: PHP's 26, MD5's 32 and longer. */
const COMMON_VALUE = /^(?=(?:[^0-9]*[0-9]){4})(?=[^a-z]*[a-z])[0-9a-z]{26,256}$/i;

/** Classic ASP: eight letters of the process in the name, 24 letters in the value. */
const ASP_NAME = /^aspsessionid[a-z]{8}$/;
const ASP_VALUE = /^[a-z]{24}$/i;

/** ASP.NET without cookies: a path segment of its own. */
const ASP_NET_SEGMENT = /^\((?:[A-Z]\([^()]*\))*S\([0-9a-z]{24}\)(?:[A-Z]\([^()]*\))*\)$/;

/** True for `name=value` where both say "session". Names are compared without regard to case. */
export function isSessionParam(param: string): boolean {
  const equals = param.indexOf('=');
  if (equals === -1) return false;
  const name = param.slice(0, equals).toLowerCase();
  const value = param.slice(equals + 1);
  if (SERVER_NAMES.has(name)) return SERVER_VALUE.test(value);
  if (COMMON_NAMES.has(name)) return COMMON_VALUE.test(value);
  return ASP_NAME.test(name) && ASP_VALUE.test(value);
}

/** The path without session parameters (`/a;jsessionid=…`) and without ASP.NET's session segments (`/(S(…))/a`). */
export function withoutSessions(path: string): string {
  if (!path.includes(';') && !path.includes('/(')) return path;
  const segments = path.split('/').map(withoutSessionParams);
  return segments
    .filter((segment, i) => i === segments.length - 1 || !ASP_NET_SEGMENT.test(segment))
    .join('/');
}

/** A parameter that keeps `.` or `..` from being a dot segment stays: without it the path would be another one. */
function withoutSessionParams(segment: string): string {
  const params = segment.split(';');
  const kept = params.filter((param, i) => i === 0 || !isSessionParam(param)).join(';');
  return kept === '.' || kept === '..' ? segment : kept;
}
