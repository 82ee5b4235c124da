import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { IsInt, IsNumber, Matches, Max, Min } from 'class-validator';
import { MAX_CAPACITY, MAX_ERROR_RATE, MIN_ERROR_RATE } from '#bloom';
import { MAX_LEASE_MS } from '#store';
import { BASES } from '#url-key';
import { must } from '../validation/must.js';
import { NAME_PATTERN, NAME_REQUIREMENT } from '../validation/name.js';
import { Optional } from '../validation/optional.js';
import { UrlProfileDto } from './url-profile.dto.js';

const CAPACITY = must(`be a whole number from 1 to ${MAX_CAPACITY}`);
const ERROR_RATE = must(`be a number from ${MIN_ERROR_RATE} to ${MAX_ERROR_RATE}`);

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

  @ApiPropertyOptional({
    oneOf: [{ type: 'string', enum: [...BASES] }, { $ref: getSchemaPath(UrlProfileDto) }],
    default: DEFAULT_URL_PROFILE,
    description:
      'Which URLs are one: a base profile by its name, or an object with rules that are off otherwise',
  })
  @Optional()
  readonly urlProfile?: unknown;
}

const MAX = must('be a whole number from 1 to 1000');
const MAX_LEASE_SECONDS = MAX_LEASE_MS / 1_000;
const LEASE_SECONDS = must(`be a whole number from 1 to ${MAX_LEASE_SECONDS}`);

export class LeaseDto {
  @ApiProperty({ type: 'integer', minimum: 1, maximum: 1_000, example: 10 })
  @IsInt(MAX)
  @Min(1, MAX)
  @Max(1_000, MAX)
  readonly max!: number;

  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_LEASE_SECONDS, example: 60 })
  @IsInt(LEASE_SECONDS)
  @Min(1, LEASE_SECONDS)
  @Max(MAX_LEASE_SECONDS, LEASE_SECONDS)
  readonly leaseSeconds!: number;
}

export class LeaseIdsDto {
  @ApiProperty({ type: [String], description: 'Ids of leased URLs' })
  readonly ids!: string[];
}
