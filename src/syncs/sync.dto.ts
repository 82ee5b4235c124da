import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsInt, IsNumber, Max, Min } from 'class-validator';
import { MAX_CAPACITY, MAX_ERROR_RATE, MIN_ERROR_RATE } from '#bloom';
import { must } from '../validation/must.js';
import { Optional } from '../validation/optional.js';

const CAPACITY = must(`be a whole number from 1 to ${MAX_CAPACITY}`);
const ERROR_RATE = must(`be a number from ${MIN_ERROR_RATE} to ${MAX_ERROR_RATE}`);
const SHARE = must('be a number from 0 to 1');
const BOOLEAN = must('be true or false');

export class OpenSyncDto {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_CAPACITY,
    description: 'New value for the filter, applied on commit. Absent: unchanged',
  })
  @Optional()
  @IsInt(CAPACITY)
  @Min(1, CAPACITY)
  @Max(MAX_CAPACITY, CAPACITY)
  readonly capacity?: number;

  @ApiPropertyOptional({
    minimum: MIN_ERROR_RATE,
    maximum: MAX_ERROR_RATE,
    description: 'New value for the filter, applied on commit. Absent: unchanged',
  })
  @Optional()
  @IsNumber({}, ERROR_RATE)
  @Min(MIN_ERROR_RATE, ERROR_RATE)
  @Max(MAX_ERROR_RATE, ERROR_RATE)
  readonly errorRate?: number;
}

export class CommitSyncDto {
  @ApiPropertyOptional({
    type: 'boolean',
    default: false,
    description: 'Commits, no matter how many items it forgets. Cannot be combined with `maxForgetShare`',
  })
  @Optional()
  @IsBoolean(BOOLEAN)
  readonly force?: boolean;

  @ApiPropertyOptional({
    type: 'boolean',
    default: false,
    description: 'Changes nothing. Returns the sync, and whether the service would refuse the commit',
  })
  @Optional()
  @IsBoolean(BOOLEAN)
  readonly dryRun?: boolean;

  @ApiPropertyOptional({
    minimum: 0,
    maximum: 1,
    description: 'Maximum share of the items that the commit may forget. Absent: `SYNC_MAX_FORGET_SHARE`',
  })
  @Optional()
  @IsNumber({}, SHARE)
  @Min(0, SHARE)
  @Max(1, SHARE)
  readonly maxForgetShare?: number;
}
