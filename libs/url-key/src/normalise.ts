import { canonicalEscapes, formEscapes } from './escapes.js';
import {
  BASES,
  MAX_NAME_LENGTH,
  MAX_NAMES,
  NAME_LISTS,
  type NormalisedUrlProfile,
  SWITCHES,
} from './profile.js';
import { LATEST_TRACKING_VERSION, TRACKING_VERSIONS } from './tracking.js';

/** An invalid profile. The message contains the value and the allowed values, and is safe to show to callers. */
export class InvalidUrlProfileError extends Error {
  override readonly name = 'InvalidUrlProfileError';
}

/**
 * Reads a profile from any JSON value: the name of a base profile, or an object like UrlProfileSpec. Throws
 * InvalidUrlProfileError.
 */
export function normaliseProfile(input: unknown): NormalisedUrlProfile {
  if (typeof input === 'string') return { base: oneOf('URL profile', input, BASES), version: 1 };
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new InvalidUrlProfileError(
      `URL profile is ${show(input)}; it must be ${list(BASES)}, or an object`,
    );
  }
  const given = givenValues(input);
  const base = given.has('base') ? oneOf('base', given.get('base'), BASES) : 'safe';
  const version = given.has('version') ? oneOf('version', given.get('version'), [1] as const) : 1;
  const on = SWITCHES.filter((name) => given.has(name) && isOn(name, given.get(name)));
  refuseContradictions(base, on);
  const switches: { [name in (typeof SWITCHES)[number]]?: true } = Object.fromEntries(
    on.map((name) => [name, true]),
  );
  const form = on.includes('formQuery');
  return {
    base,
    version,
    ...switches,
    ...trackingVersion(given, on.includes('stripTracking')),
    ...nameList('dropParams', given, form),
    ...nameList('keepParams', given, form),
  };
}

function refuseContradictions(base: NormalisedUrlProfile['base'], on: readonly string[]): void {
  if (base === 'strict' && on.includes('sortValues')) {
    throw new InvalidUrlProfileError(
      "sortValues is true; it must be false with base 'strict', which does not sort by name",
    );
  }
  if (on.includes('keepFragments') && on.includes('dropFragments')) {
    throw new InvalidUrlProfileError('keepFragments is true; it must be false with dropFragments');
  }
}

/** The object's own properties as a Map, so that looking up a name never reaches the prototype. */
type Given = ReadonlyMap<string, unknown>;

function givenValues(input: object): Given {
  const allowed: readonly string[] = ['base', 'version', ...SWITCHES, 'trackingVersion', ...NAME_LISTS];
  const entries: [string, unknown][] = Object.entries(input);
  for (const [name] of entries) {
    if (!allowed.includes(name)) {
      throw new InvalidUrlProfileError(`URL profile has ${show(name)}; it must have only ${list(allowed)}`);
    }
  }
  return new Map(entries.filter(([, value]) => value !== undefined));
}

function isOn(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new InvalidUrlProfileError(`${name} is ${show(value)}; it must be true or false`);
}

function trackingVersion(
  given: Given,
  stripTracking: boolean,
): Pick<NormalisedUrlProfile, 'trackingVersion'> {
  const value = given.get('trackingVersion');
  if (stripTracking) {
    const version = given.has('trackingVersion') ? value : LATEST_TRACKING_VERSION;
    return { trackingVersion: oneOf('trackingVersion', version, TRACKING_VERSIONS) };
  }
  if (!given.has('trackingVersion')) return {};
  throw new InvalidUrlProfileError(
    `trackingVersion is ${show(value)}; it must be absent unless stripTracking is true`,
  );
}

function nameList(
  key: (typeof NAME_LISTS)[number],
  given: Given,
  form: boolean,
): Pick<NormalisedUrlProfile, (typeof NAME_LISTS)[number]> {
  if (!given.has(key)) return {};
  const value = given.get(key);
  if (!Array.isArray(value) || value.length > MAX_NAMES) {
    throw new InvalidUrlProfileError(
      `${key} is ${show(value)}; it must be an array of at most ${MAX_NAMES} names`,
    );
  }
  if (value.length === 0) {
    if (key === 'dropParams') return {};
    // An empty list would drop every query, and no profile should do that.
    throw new InvalidUrlProfileError('keepParams is an empty array; it must contain at least one name');
  }
  const names = new Set(value.map((name: unknown) => canonicalName(key, name, form)));
  return { [key]: [...names].sort() };
}

/** The name as it appears in a canonical query. */
function canonicalName(key: string, name: unknown, form: boolean): string {
  if (
    typeof name === 'string' &&
    name.length <= MAX_NAME_LENGTH &&
    name.isWellFormed() &&
    /^[^&=#]+$/.test(name)
  ) {
    // A canonical query escapes the apostrophe, but other components don't.
    const escaped = canonicalEscapes(name).replaceAll("'", '%27');
    const canonical = form ? formEscapes(escaped) : escaped;
    if (canonical.length <= MAX_NAME_LENGTH) return canonical;
  }
  throw new InvalidUrlProfileError(
    `${key} has ${show(name)}; each must be a parameter name: well-formed Unicode of 1 to ` +
      `${MAX_NAME_LENGTH} characters when escaped, without & = #`,
  );
}

function oneOf<T extends string | number>(key: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw new InvalidUrlProfileError(`${key} is ${show(value)}; it must be ${list(allowed)}`);
}

function list(values: readonly (string | number)[]): string {
  return values.map(show).join(values.length === 2 ? ' or ' : ', ');
}

/** Formats a value for a message. The text is always short, and this never throws. */
function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 64 ? `${value.slice(0, 64)}…` : value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
