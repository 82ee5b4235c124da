import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { Priority } from '#store';
import { BATCH_OPTIONS } from '../openapi/batch-options.js';
import { MAX_URL_PAYLOAD_BYTES, type Discovery } from './entries.js';

// Shapes of bodies, only for the API description. jsonBatch() reads the bodies.

const BATCH = { type: String, isArray: true } as const;

export class ItemsDto {
  @ApiProperty({
    ...BATCH,
    description: 'At most 10,000 strings of at most 8 KiB (UTF-8). The operator can change both limits',
    example: ['alpha', 'beta'],
  })
  readonly items!: string[];
}

export class AdditionsDto extends ItemsDto {
  @ApiPropertyOptional({
    ...BATCH_OPTIONS.onlyAbsent,
    description:
      'For multisets: add only absent items, and do not count the others. If a request repeats an item, ' +
      'only its first occurrence can be new. Filters with `set` semantics always add like this',
  })
  readonly onlyAbsent?: boolean;
}

export class UrlsDto {
  @ApiProperty({
    ...BATCH,
    description:
      'At most 10,000 strings. A string longer than 8 KiB (UTF-8) is invalid. The operator ' +
      'can change both limits',
    example: ['https://example.org/a?b=1', 'https://example.org/'],
  })
  readonly urls!: string[];
}

/** How long a body's URLs stay seen. */
const TtlSeconds = (): PropertyDecorator =>
  ApiPropertyOptional({
    ...BATCH_OPTIONS.ttlSeconds,
    description:
      'For a set that ages: how long these URLs stay seen, at most `maxAgeSeconds`, which is ' +
      'the default. It never shortens the time that a URL has left',
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
      description: `Any text, at most ${MAX_URL_PAYLOAD_BYTES} bytes in UTF-8. Leases return it with the URL`,
    },
  },
};

export class DiscoveriesDto {
  @ApiProperty({
    type: 'array',
    items: { oneOf: [{ type: 'string' }, URL_WITH_PAYLOAD] },
    description:
      'At most 10,000 URLs, with or without a payload. A URL longer than 8 KiB (UTF-8) is ' +
      'invalid. The operator can change both limits',
    example: ['https://example.org/a?b=1', { url: 'https://example.org/', payload: '{"depth":1}' }],
  })
  readonly urls!: Discovery[];

  @TtlSeconds()
  readonly ttlSeconds?: number;

  @ApiPropertyOptional({
    ...BATCH_OPTIONS.priority,
    description:
      'The queue hands out URLs with a higher priority first. A set with `perHost` does this for each host. A URL that ' +
      "is already visited keeps its entry's priority",
  })
  readonly priority?: Priority;

  @ApiPropertyOptional({
    ...BATCH_OPTIONS.delaySeconds,
    description:
      'Delay before these URLs can be leased for the first time. They become visited immediately, and count as `scheduled` ' +
      'until then. In a set that ages, the delay must be shorter than the time that these URLs stay seen',
  })
  readonly delaySeconds?: number;
}
