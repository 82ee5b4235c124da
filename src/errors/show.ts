import { masked } from './masked.js';

const LONGEST = 80;
/** How many UTF-16 units to read. Enough to find the end of any userinfo. */
export const HEAD = 1024;

/**
 * A text that may contain `user:password@`, which must not reach logs or screens. It may also contain spaces and line
 * breaks, and follow backslashes or missing slashes, because URL parsers accept all of these. No match begins inside
 * another one, so each character is read once.
 */
const AUTHORITY = /(:[/\\]*|[/\\]{2,})((?:[^/?#\\:]|:(?![/\\]))*)/g;

/** A user and the beginning of a password in a URL that a line break has cut. Not a port, which has only digits. */
const USER_CUT = /([/\\]{2})(?=[^/?#\\@[]*$)[^:]*:(?!\d*$)[^]*/;

/** All characters but visible ones and the space. The second part is invisible letters and marks. */
const UNSAFE = /[^ -~\p{L}\p{M}\p{N}\p{P}\p{S}]|\p{Default_Ignorable_Code_Point}/gu;

/**
 * A value as error messages show it: with userinfo, keys and tokens masked, invisible characters escaped, cut at 80
 * characters. Safe for any JSON value.
 */
export function show(value: unknown): string {
  if (typeof value === 'string') return showString(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

function showString(value: string): string {
  const head = cut(value, HEAD);
  const isCut = head.length < value.length;
  const safe = withoutUserinfo(masked(head), isCut);
  const shown = visible(JSON.stringify(cut(safe, LONGEST)));
  return safe.length > LONGEST || isCut ? `${shown}…` : shown;
}

/** The first `most` UTF-16 units of a text, or one less so that no character is cut in two. */
export function cut(text: string, most: number): string {
  const isWithin = (text.codePointAt(most - 1) ?? 0) > 0xffff;
  return text.slice(0, isWithin ? most - 1 : most);
}

/** A text with its invisible characters escaped. */
export function visible(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** `isCut` is true if the text was cut off. */
export function withoutUserinfo(text: string, isCut: boolean): string {
  const hidden = (all: string, start: string, authority: string, at: number): string => {
    // The cut-off part may contain the `@`.
    if (isCut && at + all.length === text.length) return `${start}***@`;
    const end = authority.lastIndexOf('@');
    return end < 0 ? all : `${start}***${authority.slice(end)}`;
  };
  return text.replace(AUTHORITY, hidden).replace(USER_CUT, '$1***');
}

/** A character with its one or two UTF-16 units as escapes. */
function escaped(character: string): string {
  return character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
