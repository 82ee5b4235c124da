import { ApiPropertyOptional } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { must } from '../validation/must.js';
import { Optional } from '../validation/optional.js';

const LEAST_SECONDS = 60;
export const MOST_SECONDS = 21_600;
/** A whole number from 60 to 21,600. A pattern, because query parameters are strings. */
const SECONDS_PATTERN = /^(?:[6-9]\d|[1-9]\d{2,3}|1\d{4}|20\d{3}|21[0-5]\d{2}|21600)$/;

export class HistoryQueryDto {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: LEAST_SECONDS,
    maximum: MOST_SECONDS,
    default: MOST_SECONDS,
    description: 'How far back the history goes, in seconds',
  })
  @Optional()
  @Matches(SECONDS_PATTERN, must(`be a whole number from ${LEAST_SECONDS} to ${MOST_SECONDS}`))
  readonly seconds?: string;
}
