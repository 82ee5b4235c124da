import { ApiProperty } from '@nestjs/swagger';
import { MOST_EXPLAINED } from '../batches/few-entries.pipe.js';

// Shapes of bodies, only for the API description. FewEntriesPipe reads the bodies.

const FEW = {
  type: String,
  isArray: true,
  maxItems: MOST_EXPLAINED,
  description: 'At most 100 strings, with at most 65,536 characters in total',
} as const;

export class ExplainItemsDto {
  @ApiProperty({ ...FEW, example: ['alpha', 'beta'] }) readonly items!: string[];
}

export class ExplainUrlsDto {
  @ApiProperty({ ...FEW, example: ['HTTP://example.org:80/?b=2&a=1'] }) readonly urls!: string[];
}
