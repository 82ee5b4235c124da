import { masked } from './masked.js';

const LONGEST = 80;
/**
 * Number of characters that are read: enough to see the end of any userinfo, and few enough for the expressions below.
 */
const HEAD = 1024;

/**
 * `user:password@`, also with spaces and line breaks, and after backslashes and missing slashes: URL parsers accept all of
 * that. It must not reach logs or screens.
 */
const USERINFO = /(:[/\\]*|[/\\]{2})[^/?#\\]*@/g;
/** The same for a text that was cut, whose `@` may be missing. */
const USERINFO_CUT = /(:[/\\]*|[/\\]{2})[^/?#\\]*(?:@|$)/g;

/** A user and the begin of a password, of a URL that a line break has cut: no port has other characters than digits. */
const USER_CUT = /([/\\]{2})[^/?#\\@[]*:(?!\d*$)[^/?#\\@[]*$/;

/**
 * A value as an error message shows it: userinfo, keys and tokens masked, escaped, cut at 80 characters. It is safe for any JSON value.
 */
export function show(value: unknown): string {
  if (typeof value === 'string') return showString(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

function showString(value: string): string {
  const head = value.slice(0, HEAD);
  const safe = masked(head)
    .replace(head.length < value.length ? USERINFO_CUT : USERINFO, '$1***@')
    .replace(USER_CUT, '$1***');
  const shown = JSON.stringify(safe.slice(0, LONGEST)).replace(/[\u007f-\uffff]/g, escapeUnit);
  return safe.length > LONGEST || head.length < value.length ? `${shown}…` : shown;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
