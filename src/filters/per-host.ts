import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Allow } from 'class-validator';
import { MAX_LEASE_MS, MAX_PER_HOST, type Filter, type PerHost } from '#store';
import { invalid, unwanted, type Fault } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { refused } from '../validation/json-object.js';
import { Optional } from '../validation/optional.js';

/** The highest value of each member. */
const MOST = {
  delaySeconds: MAX_LEASE_MS / 1_000,
  maxLeased: MAX_PER_HOST,
  maxUrls: MAX_PER_HOST,
} as const;

type Member = keyof typeof MOST;

function Limit(member: Member, description: string): PropertyDecorator {
  return ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: MOST[member], description });
}

/** How a visited set's queue treats each host: in a body, and in a description. */
export class PerHostView {
  @Limit('delaySeconds', 'Time between two leases from a host. Absent: none')
  readonly delaySeconds?: number;

  @Limit('maxLeased', 'Maximum number of URLs per host that are leased at a time. Absent: no limit')
  readonly maxLeased?: number;

  @Limit(
    'maxUrls',
    'Maximum number of URLs per host that are discovered and not forgotten. `discover` returns `limited` for ' +
      'further URLs. After a sync is committed, every URL that it kept counts towards the limit. In a set that ages, ' +
      'the count restarts with each period of `maxAgeSeconds`. Absent: no limit',
  )
  readonly maxUrls?: number;
}

/** Decorates the body member that gives the queue a lane for each host. */
export function PerHostOption(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      type: PerHostView,
      description:
        'For visited sets: the queue has a lane for each host, and leases take from them in turn. Needs ' +
        '`growth: "auto"`. `{}` sets no limits. Absent: the queue has one lane',
    }),
    Optional(),
    Allow(),
  );
}

/** Reads a body's member `perHost`. Throws VALIDATION_FAILED. */
export function perHostOf(input: unknown): PerHost {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw invalid('#/perHost', `perHost must be an object, not ${show(input)}`);
  const faults: Fault[] = [];
  for (const [member, value] of Object.entries(input)) {
    if (!Object.hasOwn(MOST, member)) {
      const members = Object.keys(MOST).join(', ');
      throw invalid('#/perHost', `${show(member)} is not a member of perHost; its members are ${members}`);
    }
    const most = MOST[member as Member];
    if (Number.isInteger(value) && value >= 1 && value <= most) continue;
    const detail = `perHost.${member} must be a whole number from 1 to ${most}, not ${show(value)}`;
    faults.push({ pointer: `#/perHost/${member}`, detail });
  }
  if (faults.length > 0) throw refused(faults);
  return limitsOf(input);
}

export function limitsOf({ delaySeconds, maxLeased, maxUrls }: PerHostView): PerHost {
  return {
    ...(delaySeconds !== undefined && { delayMs: delaySeconds * 1_000 }),
    ...(maxLeased !== undefined && { maxLeased }),
    ...(maxUrls !== undefined && { maxUrls }),
  };
}

export function perHostView({ delayMs, ...limits }: PerHost): {
  readonly [K in keyof PerHostView]: PerHostView[K];
} {
  return { ...(delayMs !== undefined && { delaySeconds: delayMs / 1_000 }), ...limits };
}

/** Throws VALIDATION_FAILED if a call has an option for hosts, but the set has no `perHost`. */
export function refuseHostOption({ name, perHost }: Filter, member: string, value: unknown): void {
  if (perHost || value === undefined) return;
  throw unwanted(member, value, `visited set "${name}" was created without perHost`);
}
