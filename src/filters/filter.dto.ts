import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsNumber, Matches, Max, Min } from 'class-validator';
import { MAX_CAPACITY, MAX_ERROR_RATE, MIN_ERROR_RATE } from '#bloom';
import { MAX_MAX_AGE_SECONDS, MIN_MAX_AGE_SECONDS, type FilterType, type Semantics } from '#store';
import { must } from '../validation/must.js';
import { NAME_PATTERN, NAME_REQUIREMENT } from '../validation/name.js';
import { Optional } from '../validation/optional.js';
import { PerHostOption } from './per-host.js';

const CAPACITY = must(`be a whole number from 1 to ${MAX_CAPACITY}`);
const ERROR_RATE = must(`be a number from ${MIN_ERROR_RATE} to ${MAX_ERROR_RATE}`);

export type Growth = 'auto' | 'none';

const GROWTHS: readonly Growth[] = ['auto', 'none'];

/** Decorates the body member that decides whether a filter grows. */
export function GrowthOption(byDefault: Growth): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      enum: [...GROWTHS],
      default: byDefault,
      description:
        '`auto`: when the filter is full, it adds another layer, 2.7 times as large, up to six layers within ' +
        '`MAX_FILTER_BYTES`. All layers share `errorRate`. `none`: adds get `FILTER_FULL` at ' +
        'twice its capacity',
    }),
    Optional(),
    IsIn(GROWTHS, must('be "auto" or "none"')),
  );
}

const MAX_AGE = must(`be a whole number from ${MIN_MAX_AGE_SECONDS} to ${MAX_MAX_AGE_SECONDS}`);

/** Decorates the body member that sets a visited set's age. */
export function MaxAgeOption(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      type: 'integer',
      minimum: MIN_MAX_AGE_SECONDS,
      maximum: MAX_MAX_AGE_SECONDS,
      description:
        'For visited sets: forget URLs that were not visited or discovered for this many ' +
        'seconds. A URL may stay seen up to a thirteenth longer. Takes twice the memory. If absent, URLs stay ' +
        'seen until you forget them',
    }),
    Optional(),
    IsInt(MAX_AGE),
    Min(MIN_MAX_AGE_SECONDS, MAX_AGE),
    Max(MAX_MAX_AGE_SECONDS, MAX_AGE),
  );
}

/** The parameters that decide a filter's size. */
export class SizeDto {
  @ApiProperty({
    enum: ['counting', 'standard'],
    description: '`counting`: 4-bit counters, so items can be removed. `standard`: bits',
  })
  @IsIn(['counting', 'standard'], must('be "counting" or "standard"'))
  readonly type!: FilterType;

  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_CAPACITY, example: 1_000_000 })
  @IsInt(CAPACITY)
  @Min(1, CAPACITY)
  @Max(MAX_CAPACITY, CAPACITY)
  readonly capacity!: number;

  @ApiProperty({ minimum: MIN_ERROR_RATE, maximum: MAX_ERROR_RATE, example: 0.001 })
  @IsNumber({}, ERROR_RATE)
  @Min(MIN_ERROR_RATE, ERROR_RATE)
  @Max(MAX_ERROR_RATE, ERROR_RATE)
  readonly errorRate!: number;

  @GrowthOption('none')
  readonly growth?: Growth;
}

/** The parameters for a plan: for a filter, or for a visited set with an age or `perHost`. */
export class PlanDto extends SizeDto {
  @MaxAgeOption()
  readonly maxAgeSeconds?: number;

  @PerHostOption()
  readonly perHost?: unknown;
}

export class CreateFilterDto extends SizeDto {
  @ApiProperty({ pattern: NAME_PATTERN.source, example: 'pages' })
  @Matches(NAME_PATTERN, must(NAME_REQUIREMENT))
  readonly name!: string;

  @ApiPropertyOptional({
    enum: ['set', 'multiset'],
    default: 'set',
    description: '`set`: a second add changes nothing. `multiset` (counting filters only): every add counts',
  })
  @Optional()
  @IsIn(['set', 'multiset'], must('be "set" or "multiset"'))
  readonly semantics?: Semantics;
}

export const MAX_PAGE = 1_000;
export const DEFAULT_PAGE = 100;

/** Page size. A pattern, because query parameters are strings. */
export const PAGE_PATTERN = /^([1-9]\d{0,2}|1000)$/;
export const PAGE = must(`be a whole number from 1 to ${MAX_PAGE}`);

export class ListQueryDto {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: MAX_PAGE, default: DEFAULT_PAGE })
  @Optional()
  @Matches(PAGE_PATTERN, PAGE)
  readonly limit?: string;

  @ApiPropertyOptional({ description: '`next` from the previous page' })
  @Optional()
  @Matches(NAME_PATTERN, must('be the `next` from the previous page'))
  readonly cursor?: string;
}
