import { ApiProperty } from '@nestjs/swagger';

// Shapes of bodies for the API description; they are read by jsonBatch().

const BATCH = { type: String, isArray: true } as const;

export class ItemsDto {
  @ApiProperty({
    ...BATCH,
    description: 'At most 10,000 strings of at most 8 KiB (UTF-8), unless set otherwise',
    example: ['alpha', 'beta'],
  })
  readonly items!: string[];
}

export class UrlsDto {
  @ApiProperty({
    ...BATCH,
    description: 'At most 10,000 strings; one of more than 8 KiB (UTF-8) is invalid, unless set otherwise',
    example: ['https://example.org/a?b=1', 'https://example.org/'],
  })
  readonly urls!: string[];
}
