import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { MAX_URL_PAYLOAD_BYTES, type Discovery } from './entries.js';

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

/** How long the URLs of a body live. */
const TtlSeconds = (): PropertyDecorator =>
  ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    description:
      'Of a set that ages: how long these URLs are seen from now on, at most its maxAgeSeconds, which is the default; ' +
      'one that is seen for longer stays so',
  });

export class VisitsDto extends UrlsDto {
  @TtlSeconds()
  readonly ttlSeconds?: number;
}

const URL_WITH_PAYLOAD = {
  type: 'object',
  required: ['url', 'payload'] as string[],
  additionalProperties: false,
  properties: {
    url: { type: 'string' },
    payload: {
      type: 'string',
      description: `Opaque, handed out with the URL: at most ${MAX_URL_PAYLOAD_BYTES} bytes in UTF-8`,
    },
  },
};

export class DiscoveriesDto {
  @ApiProperty({
    type: 'array',
    items: { oneOf: [{ type: 'string' }, URL_WITH_PAYLOAD] },
    description:
      'At most 10,000 URLs, with or without a payload; one of more than 8 KiB (UTF-8) is invalid, unless set otherwise',
    example: ['https://example.org/a?b=1', { url: 'https://example.org/', payload: '{"depth":1}' }],
  })
  readonly urls!: Discovery[];

  @TtlSeconds()
  readonly ttlSeconds?: number;
}
