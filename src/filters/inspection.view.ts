import { ApiProperty } from '@nestjs/swagger';
import type { Filter, Finding, LayerSample } from '#store';

/** The cells of some pages of a layer. */
export class LayerCountersView {
  @ApiProperty({ type: 'integer', description: 'Pages of the layer' }) readonly pages!: number;
  @ApiProperty({ type: 'integer', description: 'How many of them were read: at most 256 of all layers' })
  readonly sampledPages!: number;
  @ApiProperty({
    type: 'array',
    items: { type: 'integer' },
    description:
      'How many of the counters in these pages are 0, 1, … 15; of a standard filter, 0 and 1. In a set that ages, what has ' +
      'expired is 0',
  })
  readonly values!: number[];
}

export class CountersView {
  @ApiProperty({ type: [LayerCountersView], description: 'Oldest first, as in the description' })
  readonly layers!: LayerCountersView[];
}

export class FoundCounterView {
  @ApiProperty({
    type: 'integer',
    description: 'Place in the bytes of the segment: `#index` of BITFIELD with the width that `cell` says',
  })
  readonly index!: number;
  @ApiProperty({ type: 'integer', description: 'In a set that ages, 0 if it has expired' })
  readonly value!: number;
}

export class LayerFindingView {
  @ApiProperty({ type: 'integer', description: 'From 0, the oldest' }) readonly layer!: number;
  @ApiProperty({ type: 'integer', description: 'Of the layer' }) readonly segment!: number;
  @ApiProperty({ type: 'integer', description: 'In the segment' }) readonly page!: number;
  @ApiProperty({
    enum: ['u1', 'u4', 'u8'],
    description: 'Width of a cell: of a standard filter, a counting one, and a set that ages',
  })
  readonly cell!: string;
  @ApiProperty({ required: false, description: 'Redis store: the key that has the bytes of the segment' })
  readonly redisKey?: string;
  @ApiProperty({ description: 'All its counters are above zero' }) readonly claims!: boolean;
  @ApiProperty({ type: [FoundCounterView], description: 'The k counters of the item' })
  readonly counters!: FoundCounterView[];
  @ApiProperty({
    required: false,
    format: 'date-time',
    description:
      'Set that ages: when the layer claims it no longer, unless it is visited; absent if it does not',
  })
  readonly expires?: string;
}

const ANSWER = {
  enum: ['seen', 'unseen'],
  description:
    'Whether a layer claims it, and it is not hidden. While a sync is open, of what was there before',
} as const;

const HIDDEN = {
  required: false,
  type: Boolean,
  description: 'Set that ages: forgotten while others keep its counters alive',
} as const;

const LAYERS: { type: [typeof LayerFindingView]; description: string } = {
  type: [LayerFindingView],
  description: 'Oldest first',
};

/** What an item finds. */
class FindingView {
  @ApiProperty(ANSWER) readonly answer!: 'seen' | 'unseen';
  @ApiProperty(HIDDEN) readonly hidden?: true;
  @ApiProperty(LAYERS) readonly layers!: LayerFindingView[];
}

export class ExplainedItemView extends FindingView {
  @ApiProperty() readonly item!: string;
}

export class ExplainedItemsView {
  @ApiProperty({ type: [ExplainedItemView], description: 'One per item, in order' })
  readonly items!: ExplainedItemView[];
}

export class UrlStepView {
  @ApiProperty({ description: 'S2 to S12, or the member of `urlProfile` that switches it on' })
  readonly rule!: string;
  @ApiProperty() readonly before!: string;
  @ApiProperty() readonly after!: string;
}

/** An invalid URL has `invalid` beside it only, all others the rest. */
export class ExplainedUrlView {
  @ApiProperty({ description: 'As it came' }) readonly url!: string;
  @ApiProperty({ required: false, description: 'Why it has no key' }) readonly invalid?: string;
  @ApiProperty({ required: false, description: 'What it is compared by' }) readonly key?: string;
  @ApiProperty({
    required: false,
    type: [UrlStepView],
    description: 'The rules that changed it, in order: the last one ends with the key',
  })
  readonly rules?: UrlStepView[];
  @ApiProperty({ required: false, ...ANSWER }) readonly answer?: 'seen' | 'unseen';
  @ApiProperty(HIDDEN) readonly hidden?: true;
  @ApiProperty({ required: false, ...LAYERS }) readonly layers?: LayerFindingView[];
}

export class ExplainedUrlsView {
  @ApiProperty({ type: [ExplainedUrlView], description: 'One per URL, in order' })
  readonly urls!: ExplainedUrlView[];
}

export function countersView(samples: readonly LayerSample[]): CountersView {
  return { layers: samples.map(({ values, ...sample }) => ({ ...sample, values: [...values] })) };
}

export function findingView(
  { geometry }: Filter,
  { present, hidden, layers }: Finding,
): Pick<FindingView, keyof FindingView> {
  const cell = `u${geometry.cellBits}`;
  return {
    answer: present ? 'seen' : 'unseen',
    ...(hidden && { hidden }),
    layers: layers.map(({ segment, page, claims, cells, until, key }, layer) => ({
      layer,
      segment,
      page,
      cell,
      ...(key !== undefined && { redisKey: key }),
      claims,
      counters: [...cells],
      ...(until !== undefined && { expires: new Date(until).toISOString() }),
    })),
  };
}
