import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { Allow, IsBoolean, IsInt, IsNumber, Matches, Max, Min } from 'class-validator';
import { MAX_CAPACITY, MAX_ERROR_RATE, MIN_ERROR_RATE } from '#bloom';
import { MAX_LEASE_MS, MAX_LEASED_ENTRIES, MAX_REASON_BYTES } from '#store';
import { BASES } from '#url-key';
import {
  DEFAULT_PAGE,
  GrowthOption,
  MaxAgeOption,
  MAX_PAGE,
  PAGE,
  PAGE_PATTERN,
  type Growth,
} from '../filters/filter.dto.js';
import { MaxBytes } from '../validation/max-bytes.js';
import { must } from '../validation/must.js';
import { NAME_PATTERN, NAME_REQUIREMENT } from '../validation/name.js';
import { Optional } from '../validation/optional.js';
import { CursorOption } from './list-cursor.js';
import { MAX_SCHEDULE_SECONDS } from './order.js';
import { PerHostOption } from '../filters/per-host.js';
import { UrlProfileDto } from './url-profile.dto.js';

const CAPACITY = must(`be a whole number from 1 to ${MAX_CAPACITY}`);
const ERROR_RATE = must(`be a number from ${MIN_ERROR_RATE} to ${MAX_ERROR_RATE}`);

const MAX_MAX_ATTEMPTS = 1_000_000;
const MAX_ATTEMPTS = must(`be a whole number from 1 to ${MAX_MAX_ATTEMPTS}`);

export const DEFAULT_ERROR_RATE = 1e-4;
export const DEFAULT_URL_PROFILE = 'safe';

@ApiExtraModels(UrlProfileDto)
export class CreateVisitedSetDto {
  @ApiProperty({ pattern: NAME_PATTERN.source, example: 'crawl' })
  @Matches(NAME_PATTERN, must(NAME_REQUIREMENT))
  readonly name!: string;

  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_CAPACITY, example: 1_000_000 })
  @IsInt(CAPACITY)
  @Min(1, CAPACITY)
  @Max(MAX_CAPACITY, CAPACITY)
  readonly capacity!: number;

  @ApiPropertyOptional({ minimum: MIN_ERROR_RATE, maximum: MAX_ERROR_RATE, default: DEFAULT_ERROR_RATE })
  @Optional()
  @IsNumber({}, ERROR_RATE)
  @Min(MIN_ERROR_RATE, ERROR_RATE)
  @Max(MAX_ERROR_RATE, ERROR_RATE)
  readonly errorRate?: number;

  @GrowthOption('auto')
  readonly growth?: Growth;

  @MaxAgeOption()
  readonly maxAgeSeconds?: number;

  @ApiPropertyOptional({
    oneOf: [{ type: 'string', enum: [...BASES] }, { $ref: getSchemaPath(UrlProfileDto) }],
    default: DEFAULT_URL_PROFILE,
    description:
      'Rules that decide which URLs are the same page: the name of a base profile, or an ' +
      'object that turns on more rules',
  })
  @Optional()
  readonly urlProfile?: unknown;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_MAX_ATTEMPTS,
    description:
      'A URL becomes a dead letter after this many leases without an acknowledgement. Absent: never',
  })
  @Optional()
  @IsInt(MAX_ATTEMPTS)
  @Min(1, MAX_ATTEMPTS)
  @Max(MAX_MAX_ATTEMPTS, MAX_ATTEMPTS)
  readonly maxAttempts?: number;

  @PerHostOption()
  readonly perHost?: unknown;
}

const MAX = must(`be a whole number from 1 to ${MAX_LEASED_ENTRIES}`);
const MAX_LEASE_SECONDS = MAX_LEASE_MS / 1_000;
const LEASE_SECONDS = must(`be a whole number from 1 to ${MAX_LEASE_SECONDS}`);
const DELAY_SECONDS = must(`be a whole number from 0 to ${MAX_LEASE_SECONDS}`);
const AGAIN_SECONDS = must(`be a whole number from 1 to ${MAX_SCHEDULE_SECONDS}`);
const COUNT_ATTEMPT = must('be true or false');
export const MAX_WAIT_SECONDS = 30;
const WAIT_SECONDS = must(`be a whole number from 0 to ${MAX_WAIT_SECONDS}`);

export class LeaseDto {
  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_LEASED_ENTRIES, example: 10 })
  @IsInt(MAX)
  @Min(1, MAX)
  @Max(MAX_LEASED_ENTRIES, MAX)
  readonly max!: number;

  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_LEASE_SECONDS, example: 60 })
  @IsInt(LEASE_SECONDS)
  @Min(1, LEASE_SECONDS)
  @Max(MAX_LEASE_SECONDS, LEASE_SECONDS)
  readonly leaseSeconds!: number;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_LEASED_ENTRIES,
    description:
      'For a set with `perHost`: maximum number of URLs per host. Default: 1 if `perHost` has `delaySeconds`, ' +
      'else no limit',
  })
  @Optional()
  @IsInt(MAX)
  @Min(1, MAX)
  @Max(MAX_LEASED_ENTRIES, MAX)
  readonly maxPerHost?: number;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: MAX_WAIT_SECONDS,
    default: 0,
    description: 'How long to wait if no URL can be leased',
  })
  @Optional()
  @IsInt(WAIT_SECONDS)
  @Min(0, WAIT_SECONDS)
  @Max(MAX_WAIT_SECONDS, WAIT_SECONDS)
  readonly waitSeconds?: number;
}

/** IdsPipe checks the ids. */
export class LeaseIdsDto {
  @ApiProperty({ type: [String], description: 'Ids of leased URLs' })
  @Allow()
  readonly ids!: readonly string[];
}

export class AckDto extends LeaseIdsDto {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_SCHEDULE_SECONDS,
    description:
      'The URLs come back into the queue after this time, as if they had never been leased. Until then, they count as ' +
      '`scheduled`, and `forget` removes them. Not for sets that age. Absent: the URLs leave the queue',
  })
  @Optional()
  @IsInt(AGAIN_SECONDS)
  @Min(1, AGAIN_SECONDS)
  @Max(MAX_SCHEDULE_SECONDS, AGAIN_SECONDS)
  readonly againAfterSeconds?: number;
}

export class ReleaseDto extends LeaseIdsDto {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: MAX_LEASE_SECONDS,
    default: 0,
    description: 'Delay before the URLs can be leased again',
  })
  @Optional()
  @IsInt(DELAY_SECONDS)
  @Min(0, DELAY_SECONDS)
  @Max(MAX_LEASE_SECONDS, DELAY_SECONDS)
  readonly delaySeconds?: number;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: MAX_LEASE_SECONDS,
    default: 0,
    description:
      'For a set with `perHost`: delay before any URL from the same hosts can be leased, for example from the ' +
      "`Retry-After` header. It never shortens a host's delay. An `expired` id does not delay its host. An `unknown` id " +
      'does, if the URL was forgotten or dropped and its entry is still in the queue',
  })
  @Optional()
  @IsInt(DELAY_SECONDS)
  @Min(0, DELAY_SECONDS)
  @Max(MAX_LEASE_SECONDS, DELAY_SECONDS)
  readonly hostDelaySeconds?: number;

  @ApiPropertyOptional({
    type: 'string',
    example: 'HTTP 503',
    description: `Stored with a URL that becomes a dead letter: at most ${MAX_REASON_BYTES} bytes in UTF-8`,
  })
  @Optional()
  @MaxBytes(MAX_REASON_BYTES)
  readonly reason?: string;

  @ApiPropertyOptional({
    type: 'boolean',
    default: true,
    description:
      '`false` postpones URLs without counting an attempt: `attempt` stays as it was before the lease',
  })
  @Optional()
  @IsBoolean(COUNT_ATTEMPT)
  readonly countAttempt?: boolean;
}

export class ExtendDto extends LeaseIdsDto {
  @ApiProperty({
    type: 'integer',
    minimum: 1,
    maximum: MAX_LEASE_SECONDS,
    example: 60,
    description: 'The leases end this many seconds from now',
  })
  @IsInt(LEASE_SECONDS)
  @Min(1, LEASE_SECONDS)
  @Max(MAX_LEASE_SECONDS, LEASE_SECONDS)
  readonly leaseSeconds!: number;
}

/** A page of dead letters or hosts. */
export class QueuePageQueryDto {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: MAX_PAGE, default: DEFAULT_PAGE })
  @Optional()
  @Matches(PAGE_PATTERN, PAGE)
  readonly limit?: string;

  @CursorOption()
  readonly cursor?: string;
}

/** IdsPipe checks the ids. */
export class DeadLetterIdsDto {
  @ApiProperty({ type: [String], description: 'Ids of dead letters' })
  @Allow()
  readonly ids!: readonly string[];
}
