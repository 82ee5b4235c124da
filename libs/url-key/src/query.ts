import { formEscapes } from './escapes.js';
import type { NormalisedUrlProfile } from './profile.js';
import { isSessionParam } from './session.js';
import { isTracking, TRACKING_LISTS } from './tracking.js';

/** A `&`-separated piece of a query: `name=value`, or a name alone. */
type Token = string;

/**
 * The query rules of a profile as one function on canonical queries (without the `?`), or undefined if there are none.
 * An empty result means: no query.
 */
export function compileQuery(profile: NormalisedUrlProfile): ((query: string) => string) | undefined {
  const safe = profile.base === 'safe';
  const keeps = compileFilter(profile);
  const { formQuery, sortValues } = profile;
  if (!safe && !formQuery && keeps === undefined) return undefined;

  const order = sortValues ? byNameThenValue : byName;
  return (query) => {
    // One token has no order to bring about, and it is not empty; most queries are of this kind.
    if (!formQuery && keeps === undefined && !query.includes('&')) return query;
    let tokens: Token[] = query.split('&');
    if (formQuery) tokens = tokens.map(formToken);
    // Before sorting, as dropping the last `=` of a query leaves one whose order means something.
    if (keeps !== undefined) tokens = tokens.filter(keeps);
    if (safe) tokens = inOrder(tokens, order);
    return tokens.join('&');
  };
}

/** S10 and S11: without empty tokens, and sorted if any has a `=`. */
function inOrder(tokens: Token[], order: (a: Token, b: Token) => number): Token[] {
  const filled = tokens.includes('') ? tokens.filter((token) => token !== '') : tokens;
  const sorted = filled.every((token, i) => i === 0 || order(filled[i - 1] ?? '', token) <= 0);
  return sorted || !filled.some((token) => token.includes('=')) ? filled : filled.sort(order);
}

/** The token's name: what stands before the first `=`, or all of it. */
function nameOf(token: Token): string {
  const equals = token.indexOf('=');
  return equals === -1 ? token : token.slice(0, equals);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** By bytes: canonical text is ASCII. Array.sort is stable, so repeated names keep their order. */
function byName(a: Token, b: Token): number {
  return compare(nameOf(a), nameOf(b));
}

function byNameThenValue(a: Token, b: Token): number {
  return byName(a, b) || compare(a, b);
}

function formToken(token: Token): Token {
  if (token === '') return token;
  const name = nameOf(token);
  return `${formEscapes(name)}=${formEscapes(token.slice(name.length + 1))}`;
}

/** The rules that drop tokens, or undefined if the profile has none. */
function compileFilter(profile: NormalisedUrlProfile): ((token: Token) => boolean) | undefined {
  const { stripTracking, trackingVersion, stripSession, dropBlank } = profile;
  const tracking = stripTracking && trackingVersion ? TRACKING_LISTS[trackingVersion] : undefined;
  const drop = profile.dropParams && new Set(profile.dropParams);
  const keep = profile.keepParams && new Set(profile.keepParams);
  if (!tracking && !drop && !keep && !stripSession && !dropBlank) return undefined;
  return (token) => {
    const name = nameOf(token);
    if (drop?.has(name)) return false;
    if (keep && !keep.has(name)) return false;
    if (tracking && isTracking(tracking, name)) return false;
    if (stripSession && isSessionParam(token)) return false;
    return !(dropBlank && token.length === name.length + 1);
  };
}
