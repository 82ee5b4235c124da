import { ApiPropertyOptional } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { must } from '../validation/must.js';
import { NAME_PATTERN, NAME_REQUIREMENT } from '../validation/name.js';
import { Optional } from '../validation/optional.js';

export class ImportQueryDto {
  @ApiPropertyOptional({
    pattern: NAME_PATTERN.source,
    description: 'Replaces the name in the export',
  })
  @Optional()
  @Matches(NAME_PATTERN, must(NAME_REQUIREMENT))
  readonly name?: string;
}
