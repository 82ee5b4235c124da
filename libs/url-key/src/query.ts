import { formEscapes } from './escapes.js';
import type { NormalisedUrlProfile } from './profile.js';
import { withoutSessionParams } from './session.js';
import { isTracking, TRACKING_LISTS } from './tracking.js';

/** A piece of a query between `&`: `name=value`, or only a name. */
type Token = string;

/**
 * Compiles a profile's query rules into one function on canonical queries (without the `?`). Undefined if it has none.
 * An empty result removes the query.
 */
export function compileQuery(profile: NormalisedUrlProfile): ((query: string) => string) | undefined {
  const safe = profile.base === 'safe';
  const keeps = compileFilter(profile);
  const { formQuery, stripSession, sortValues } = profile;
  if (!safe && !formQuery && !stripSession && keeps === undefined) return undefined;

  return (query) => {
    // A single token needs no sorting and isn't empty. Most queries have only one.
    if (!formQuery && !stripSession && keeps === undefined && !query.includes('&')) return query;
    let tokens: Token[] = query.split('&');
    if (formQuery) tokens = tokens.map(formToken);
    // Drops session parameters before sorting, because once a query has lost its last `=`, the order of its tokens
    // matters.
    if (stripSession) tokens = withoutSessionParams(tokens);
    if (keeps !== undefined) tokens = tokens.filter(keeps);
    if (safe) tokens = inOrder(tokens, sortValues === true);
    return tokens.join('&');
  };
}

/** Rules S10 and S11: drops empty tokens, and sorts by name if any token has a `=`. Repeated names keep their order. */
function inOrder(tokens: Token[], sortValues: boolean): Token[] {
  const filled = tokens.includes('') ? tokens.filter(isFilled) : tokens;
  if (!filled.some((token) => token.includes('='))) return filled;
  const names = filled.map(sortName);
  // String comparison equals byte comparison, because canonical text is ASCII.
  if (!sortValues && names.every((name, i) => i === 0 || (names[i - 1] ?? '') <= name)) return filled;

  const groups = new Map<string, Token[]>();
  for (const [i, token] of filled.entries()) {
    const name = names[i] ?? '';
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [token]);
    else group.push(token);
  }
  return [...groups.keys()].sort().flatMap((name) => {
    const group = groups.get(name) ?? [];
    return sortValues && group.every((token) => nameOf(token) === name) ? group.sort() : group;
  });
}

function isFilled(token: Token): boolean {
  return token !== '';
}

/** Rule S10 alone, on a canonical query. */
export function withoutEmptyTokens(query: string): string {
  return query.split('&').filter(isFilled).join('&');
}

/** Empty brackets, with canonical escapes. */
const BRACKETS = '%5B%5D';

/**
 * The sort key: the name up to its first empty brackets. Rack, Rails and PHP use the order of `a[][b]` and `a[][c]` to
 * find the start of a list element. So all names that begin with `a[]` keep their order.
 */
function sortName(token: Token): string {
  const name = nameOf(token);
  const brackets = name.indexOf(BRACKETS);
  return brackets === -1 ? name : name.slice(0, brackets + BRACKETS.length);
}

/** The part before the first `=`, or the whole token. */
function nameOf(token: Token): string {
  const equals = token.indexOf('=');
  return equals === -1 ? token : token.slice(0, equals);
}

function formToken(token: Token): Token {
  if (token === '') return token;
  const name = nameOf(token);
  return `${formEscapes(name)}=${formEscapes(token.slice(name.length + 1))}`;
}

/** Compiles the rules that drop single tokens. Undefined if the profile has none. */
function compileFilter(profile: NormalisedUrlProfile): ((token: Token) => boolean) | undefined {
  const { stripTracking, trackingVersion, dropBlank } = profile;
  const tracking = stripTracking && trackingVersion ? TRACKING_LISTS[trackingVersion] : undefined;
  const drop = profile.dropParams && new Set(profile.dropParams);
  const keep = profile.keepParams && new Set(profile.keepParams);
  if (!tracking && !drop && !keep && !dropBlank) return undefined;
  return (token) => {
    const name = nameOf(token);
    if (drop?.has(name)) return false;
    if (keep && !keep.has(name)) return false;
    if (tracking && isTracking(tracking, name)) return false;
    return !(dropBlank && token.length === name.length + 1);
  };
}
