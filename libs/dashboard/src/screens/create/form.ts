import type { CreateFilter, CreateVisitedSet, PerHost, PlanOptions } from '#client';
import { count, share } from '../../parse.js';
import type { Kind } from '../../sets.js';

/** The contents of the form, as typed. */
export interface Form {
  readonly kind: Kind;
  readonly name: string;
  readonly capacity: string;
  readonly errorRate: string;
  readonly grows: boolean;
  readonly maxAge: string;
  readonly maxAgeUnit: keyof typeof UNIT_SECONDS;
  readonly maxAttempts: string;
  readonly byHost: boolean;
  readonly perHost: Readonly<Record<HostLimit, string>>;
  readonly base: 'safe' | 'strict';
  readonly rules: readonly Rule[];
  readonly type: 'counting' | 'standard';
  readonly semantics: 'set' | 'multiset';
}

/** The limits for each host: API name, label, hint, and text in an empty field. */
export const HOST_LIMITS = [
  ['delaySeconds', 'Seconds between requests', 'From one lease to the next, per host', 'none'],
  ['maxLeased', 'Leased at a time', 'Maximum number of URLs per host that workers hold at once', 'no limit'],
  ['maxUrls', 'URLs per host', 'Further URLs are “limited”: neither visited nor queued', 'no limit'],
] as const;

/** API name for such a limit. */
export type HostLimit = (typeof HOST_LIMITS)[number][0];

/** Units for an age. */
export const UNIT_SECONDS = { minutes: 60, hours: 3_600, days: 86_400 } as const;

/** The URL identity rules that users need most. The API also offers the others. */
export const RULES = [
  ['stripTracking', 'Ignore tracking parameters', 'utm_*, gclid, fbclid …'],
  ['stripSession', 'Ignore session ids', 'in the path and the query'],
  ['stripTrailingSlash', 'Treat /a/ as /a', undefined],
  ['stripWww', 'Treat www.a.b as a.b', undefined],
  ['ignoreScheme', 'Treat http as https', undefined],
] as const;

/** API name for one of these rules. */
export type Rule = (typeof RULES)[number][0];

/** The initial form: a visited set that grows. */
export const EMPTY: Form = {
  kind: 'sets',
  name: '',
  capacity: '1,000,000',
  errorRate: '0.01 %',
  grows: true,
  maxAge: '',
  maxAgeUnit: 'days',
  maxAttempts: '',
  byHost: false,
  perHost: { delaySeconds: '', maxLeased: '', maxUrls: '' },
  base: 'safe',
  rules: [],
  type: 'counting',
  semantics: 'set',
};

/** Faults in form members, by their API names. */
export type Faults = Readonly<Record<string, string>>;

const WHOLE_OR_EMPTY = 'Enter a whole number, or leave the field empty';
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/;

/** A form's parsed numbers. NaN where a field has no valid number. */
interface Numbers {
  readonly capacity: number;
  readonly errorRate: number;
  readonly maxAgeSeconds: number | undefined;
  readonly maxAttempts: number | undefined;
  readonly perHost: PerHost | undefined;
}

function numbersOf(form: Form): Numbers {
  const ages = form.kind === 'sets' && form.maxAge.trim() !== '';
  const limited = form.kind === 'sets' && form.maxAttempts.trim() !== '';
  return {
    capacity: count(form.capacity),
    errorRate: share(form.errorRate),
    maxAgeSeconds: ages ? Math.round(Number(form.maxAge) * UNIT_SECONDS[form.maxAgeUnit]) : undefined,
    maxAttempts: limited ? count(form.maxAttempts) : undefined,
    perHost: perHostOf(form),
  };
}

/** undefined if the set gets no `perHost`. */
function perHostOf({ kind, grows, byHost, perHost }: Form): PerHost | undefined {
  // Only a set that grows can have `perHost`.
  if (kind !== 'sets' || !grows || !byHost) return undefined;
  const given = HOST_LIMITS.map(([limit]) => limit).filter((limit) => perHost[limit].trim() !== '');
  return Object.fromEntries(given.map((limit) => [limit, count(perHost[limit])]));
}

/**
 * Faults that the page can find itself. The service checks the limits. The name is checked after the first submit
 * (`tried`).
 */
export function faultsOf(form: Form, tried = false): Faults {
  const { capacity, errorRate, maxAgeSeconds, maxAttempts, perHost = {} } = numbersOf(form);
  const faults: Record<string, string> = {};
  if (tried && !NAME.test(form.name))
    faults.name =
      form.name === ''
        ? 'Enter a name'
        : 'Use A-Z, a-z, 0-9, “.”, “_”, “:” and “-”, and begin with a letter or digit';
  if (!(capacity >= 1)) faults.capacity = 'Enter a whole number, such as 1,000,000 or 1M';
  if (!(errorRate > 0 && errorRate < 1)) faults.errorRate = 'Enter a share, such as 0.01 % or 1 in 10,000';
  if (maxAgeSeconds !== undefined && !(maxAgeSeconds > 0 && Number.isFinite(maxAgeSeconds)))
    faults.maxAgeSeconds = 'Enter a number, or leave the field empty';
  if (maxAttempts !== undefined && !(maxAttempts >= 1)) faults.maxAttempts = WHOLE_OR_EMPTY;
  for (const [limit, value] of Object.entries(perHost))
    if (!(value >= 1)) faults[`perHost/${limit}`] = WHOLE_OR_EMPTY;
  return faults;
}

/** The plan request for a form. */
export function planOf(form: Form): PlanOptions {
  const { capacity, errorRate, maxAgeSeconds, perHost } = numbersOf(form);
  return {
    type: form.kind === 'sets' ? 'counting' : form.type,
    capacity,
    errorRate,
    growth: form.grows ? 'auto' : 'none',
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
    // The limits themselves don't change the plan.
    ...(perHost && { perHost: {} }),
  };
}

/** The filter to create. Call it only if the form has no faults. */
export function filterOf(form: Form): Omit<CreateFilter, 'name'> {
  const { type, capacity, errorRate, growth = 'none' } = planOf(form);
  return { type, capacity, errorRate, growth, semantics: type === 'standard' ? 'set' : form.semantics };
}

/** The visited set to create. Call it only if the form has no faults. */
export function setOf(form: Form): Omit<CreateVisitedSet, 'name'> {
  const { capacity, errorRate, growth = 'auto', maxAgeSeconds } = planOf(form);
  const { maxAttempts, perHost } = numbersOf(form);
  const on = Object.fromEntries(form.rules.map((rule) => [rule, true]));
  return {
    capacity,
    errorRate,
    growth,
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(perHost && { perHost }),
    urlProfile: form.rules.length === 0 ? form.base : { base: form.base, ...on },
  };
}
