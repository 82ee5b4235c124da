import { ApiPropertyOptional } from '@nestjs/swagger';
import { BASES, MAX_NAME_LENGTH, MAX_NAMES, TRACKING_VERSIONS, type UrlProfileSpec } from '#url-key';

/** A rule that is off by default. */
function Rule(description: string): PropertyDecorator {
  return ApiPropertyOptional({ type: 'boolean', default: false, description });
}

/** A list of parameter names. */
function Names(description: string, minItems: number): PropertyDecorator {
  const items = { type: 'string', minLength: 1, maxLength: MAX_NAME_LENGTH } as const;
  return ApiPropertyOptional({ type: 'array', items, minItems, maxItems: MAX_NAMES, description });
}

/** A URL profile's members in the API description. `normaliseProfile` reads and checks them. */
export class UrlProfileDto implements Required<UrlProfileSpec> {
  @ApiPropertyOptional({
    type: 'string',
    enum: [...BASES],
    default: 'safe',
    description: '`safe` drops empty parameters and sorts the others by name; `strict` does neither',
  })
  readonly base!: (typeof BASES)[number];

  @ApiPropertyOptional({ type: 'integer', enum: [1], default: 1, description: 'Version of the rules' })
  readonly version!: 1;

  @Rule('Drops tracking parameters, by a versioned list: `utm_*`, `gclid`, `fbclid` …')
  readonly stripTracking!: boolean;

  @ApiPropertyOptional({
    type: 'integer',
    enum: [...TRACKING_VERSIONS],
    description: 'Version of the `stripTracking` list. Absent: the latest. Needs `stripTracking`',
  })
  readonly trackingVersion!: (typeof TRACKING_VERSIONS)[number];

  @Names('Drops the parameters with these names', 0)
  readonly dropParams!: readonly string[];

  @Names('Drops all other parameters', 1)
  readonly keepParams!: readonly string[];

  @Rule('Drops session ids from path and query, if the value looks like one')
  readonly stripSession!: boolean;

  @Rule('Reads the query as a form: `+` is `%20`, `%2C` is `,`, `?a` is `?a=`')
  readonly formQuery!: boolean;

  @Rule('Sorts parameters of the same name by value. Not allowed with `strict`')
  readonly sortValues!: boolean;

  @Rule('Drops parameters without a value: `a=`, with `formQuery` also `a`')
  readonly dropBlank!: boolean;

  @Rule('Treats `/a/` as `/a`')
  readonly stripTrailingSlash!: boolean;

  @Rule('Treats `www.a.b` as `a.b`')
  readonly stripWww!: boolean;

  @Rule('Treats http as https')
  readonly ignoreScheme!: boolean;

  @Rule('Treats `/a/index.html` as `/a/`. The same applies to other names of index pages')
  readonly stripDirIndex!: boolean;

  @Rule('Treats `/a//b` as `/a/b`')
  readonly collapseSlashes!: boolean;

  @Rule('Treats `user:password@a.b` as `a.b`')
  readonly stripUserinfo!: boolean;

  @Rule('Also drops the fragments `#!…` and `#/…`')
  readonly dropFragments!: boolean;

  @Rule('Keeps every fragment that is not empty. Not allowed with `dropFragments`')
  readonly keepFragments!: boolean;
}
