import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsInt,
  Matches,
  Max,
  Min,
  type ValidationArguments,
} from 'class-validator';
import { SCOPES, type Scope } from '../request/scope.js';
import { show } from '../errors/show.js';
import { must } from '../validation/must.js';
import { Optional } from '../validation/optional.js';
import { PREFIX_PATTERN, PREFIX_REQUIREMENT } from '../validation/prefix.js';
import { IsTime } from '../validation/time.js';

const NAME_PATTERN = /^[!-~]([ -~]{0,62}[!-~])?$/;
const SCOPES_REQUIREMENT = 'be a list of "read", "write" and "admin"';
const SCOPE_LIST = must(SCOPES_REQUIREMENT);

/** The message for an unknown scope in a list. */
function namesNoScope({ property, value }: ValidationArguments): string {
  if (value === undefined) return `${property} is missing; it must ${SCOPES_REQUIREMENT}`;
  const words: readonly unknown[] = Array.isArray(value) ? value : [value];
  const wrong = words.find((word) => !SCOPES.some((scope) => scope === word));
  return `${property} must ${SCOPES_REQUIREMENT}; ${show(wrong)} is not one of them`;
}

const LIMIT = must(`be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`);

/** A limit on the filters and visited sets that the key may create. */
function Limit(description: string): PropertyDecorator {
  const documented = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description } as const;
  const rules = [Optional(), IsInt(LIMIT), Min(1, LIMIT), Max(Number.MAX_SAFE_INTEGER, LIMIT)];
  return applyDecorators(ApiPropertyOptional(documented), ...rules);
}

/** The body of a request that creates a key. */
export class CreateKeyDto {
  @ApiProperty({ pattern: NAME_PATTERN.source, example: 'nightly import', description: 'A label for people' })
  @Matches(NAME_PATTERN, must('be 1 to 64 printable ASCII characters'))
  readonly name!: string;

  @ApiProperty({
    enum: SCOPES,
    isArray: true,
    example: ['write'],
    description: '`write` includes `read`, and `admin` includes `write`',
  })
  @IsArray(SCOPE_LIST)
  @ArrayMinSize(1, SCOPE_LIST)
  @ArrayMaxSize(SCOPES.length, SCOPE_LIST)
  @IsIn(SCOPES, { each: true, message: namesNoScope })
  readonly scopes!: Scope[];

  @ApiPropertyOptional({
    pattern: PREFIX_PATTERN.source,
    example: 'acme-',
    description: 'The key sees only filters and visited sets whose names begin with this prefix',
  })
  @Optional()
  @Matches(PREFIX_PATTERN, must(PREFIX_REQUIREMENT))
  readonly prefix?: string;

  @Limit(
    'Limit on the number of filters and visited sets under the prefix, including those that ' +
      'other keys created. Needs `prefix`. Absent: no limit',
  )
  readonly maxFilters?: number;

  @Limit('Limit on the sum of their `memoryBytes`. Needs `prefix`. Absent: no limit')
  readonly maxBytes?: number;

  @ApiPropertyOptional({
    format: 'date-time',
    description: 'When the key expires, with a time zone. Absent: never',
  })
  @Optional()
  @IsTime()
  readonly expiresAt?: string;
}

/** How long a rotated key may stay valid beside the new one: 30 days. */
const MAX_OVERLAP_SECONDS = 2_592_000;
export const DEFAULT_OVERLAP_SECONDS = 86_400;

const OVERLAP = must(`be a whole number from 0 to ${MAX_OVERLAP_SECONDS}`);

/** The body of a request that rotates a key. */
export class RotateKeyDto {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: MAX_OVERLAP_SECONDS,
    default: DEFAULT_OVERLAP_SECONDS,
    description: 'How long the old key stays valid alongside the new one, unless it expires sooner',
  })
  @Optional()
  @IsInt(OVERLAP)
  @Min(0, OVERLAP)
  @Max(MAX_OVERLAP_SECONDS, OVERLAP)
  readonly overlapSeconds?: number;
}
