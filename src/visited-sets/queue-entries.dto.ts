import { ApiPropertyOptional } from '@nestjs/swagger';
import { Equals, IsBoolean, IsIn, IsInt, IsString, Matches, Max, Min } from 'class-validator';
import { ENTRY_STATES, type EntryState } from '#store';
import { DEFAULT_PAGE, MAX_PAGE, PAGE, PAGE_PATTERN } from '../filters/filter.dto.js';
import { must } from '../validation/must.js';
import { Optional } from '../validation/optional.js';
import { CursorOption } from './list-cursor.js';

/** Maximum number of entries that one `drop` looks at. */
export const MAX_LOOKED = 10_000;

const STATES = ENTRY_STATES.map((state) => `"${state}"`).join(', ');
/**
 * A prefix includes at least the host's first character. Otherwise it would select all URLs with its scheme. Any number
 * of slashes and backslashes may precede the host.
 */
const PREFIX = /^https?:[/\\]*[^/?#\\]/i;
const FLAG = must('be true or false');
const DROPPED = must(`be a whole number from 1 to ${MAX_LOOKED}`);

/** Queue entries that match all given members. */
export class EntrySelectionDto {
  @ApiPropertyOptional({ enum: [...ENTRY_STATES], description: 'Only URLs in this state' })
  @Optional()
  @IsIn(ENTRY_STATES, must(`be one of ${STATES}`))
  readonly state?: EntryState;

  @ApiPropertyOptional({
    type: 'string',
    example: 'example.org',
    description: 'Only URLs from this host. For a set with `perHost`',
  })
  @Optional()
  @IsString(must('be a string'))
  readonly host?: string;

  @ApiPropertyOptional({
    type: 'string',
    pattern: PREFIX.source,
    example: 'https://example.org/archive/',
    description:
      'Only URLs, as they were queued, that begin with this text. End a host with `/`, because ' +
      '`https://example.org` also matches `https://example.organic/`',
  })
  @Optional()
  @Matches(PREFIX, must('begin with http: or https: and contain the first character of a host'))
  readonly prefix?: string;
}

export class QueuedUrlsQueryDto extends EntrySelectionDto {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: MAX_PAGE, default: DEFAULT_PAGE })
  @Optional()
  @Matches(PAGE_PATTERN, PAGE)
  readonly limit?: string;

  @CursorOption()
  readonly cursor?: string;
}

export class DropQueuedDto extends EntrySelectionDto {
  @ApiPropertyOptional({
    enum: [true],
    description:
      'Drops the whole queue. Required without `state`, `host` and `prefix`, and refused with any of them',
  })
  @Optional()
  @Equals(true, must('be true'))
  readonly all?: true;

  @ApiPropertyOptional({
    type: 'boolean',
    default: false,
    description: 'Also forgets the URLs, so that they can be discovered again',
  })
  @Optional()
  @IsBoolean(FLAG)
  readonly forget?: boolean;

  @ApiPropertyOptional({
    type: 'boolean',
    default: false,
    description: 'Counts the URLs that match, and changes nothing',
  })
  @Optional()
  @IsBoolean(FLAG)
  readonly dryRun?: boolean;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_LOOKED,
    default: MAX_LOOKED,
    description: 'Maximum number of URLs that this call drops or, with `dryRun`, counts',
  })
  @Optional()
  @IsInt(DROPPED)
  @Min(1, DROPPED)
  @Max(MAX_LOOKED, DROPPED)
  readonly limit?: number;

  @CursorOption()
  readonly cursor?: string;
}
