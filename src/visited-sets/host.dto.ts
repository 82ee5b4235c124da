import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, Max, Min } from 'class-validator';
import { MAX_BLOCKED_UNTIL, MAX_LEASE_MS, MAX_PER_HOST, type HostSettings } from '#store';
import { invalid } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { must } from '../validation/must.js';
import { Optional } from '../validation/optional.js';
import { IsTime, timeIn } from '../validation/time.js';
import { limitsOf } from '../filters/per-host.js';

const AS_SET = "Absent: the set's setting applies";

function OwnLimit(minimum: number, maximum: number, description: string): PropertyDecorator {
  const rule = must(`be a whole number from ${minimum} to ${maximum}`);
  return applyDecorators(
    ApiPropertyOptional({ type: 'integer', minimum, maximum, description: `${description}. ${AS_SET}` }),
    Optional(),
    IsInt(rule),
    Min(minimum, rule),
    Max(maximum, rule),
  );
}

/** One host's settings. They replace all earlier ones. */
export class HostSettingsDto {
  @OwnLimit(0, MAX_LEASE_MS / 1_000, 'Time between two leases from the host. 0: none')
  readonly delaySeconds?: number;

  @OwnLimit(1, MAX_PER_HOST, "Maximum number of the host's URLs that are leased at a time")
  readonly maxLeased?: number;

  @OwnLimit(
    1,
    MAX_PER_HOST,
    "Maximum number of the host's URLs that are discovered and not forgotten. The set must have `maxUrls` too",
  )
  readonly maxUrls?: number;

  @ApiPropertyOptional({
    format: 'date-time',
    description: "Workers can't lease the host's URLs before this time. Absent: the host is not blocked",
  })
  @Optional()
  @IsTime()
  readonly blockedUntil?: string;
}

/** Throws VALIDATION_FAILED for a time that doesn't exist or that a store can't keep. */
export function hostSettingsOf({ blockedUntil, ...limits }: HostSettingsDto): HostSettings {
  const own = limitsOf(limits);
  return {
    ...(Object.keys(own).length > 0 && { own }),
    ...(blockedUntil !== undefined && { blockedUntil: endOfBlock(blockedUntil) }),
  };
}

function endOfBlock(text: string): number {
  const time = timeIn('blockedUntil', text);
  if (time <= MAX_BLOCKED_UNTIL) return Math.max(0, time);
  const latest = new Date(MAX_BLOCKED_UNTIL).toISOString();
  throw invalid('#/blockedUntil', `blockedUntil must be at most ${latest}, not ${show(text)}`);
}
