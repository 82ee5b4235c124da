import { ApiProperty } from '@nestjs/swagger';
import type { Filter, Finding, LayerSample } from '#store';

/** The cells in some of a layer's pages. */
export class LayerCountersView {
  @ApiProperty({ type: 'integer', description: 'Pages in the layer' }) readonly pages!: number;
  @ApiProperty({ type: 'integer', description: 'Pages that were read: at most 256 in all layers' })
  readonly sampledPages!: number;
  @ApiProperty({
    type: 'array',
    items: { type: 'integer' },
    description:
      'How many of the counters in these pages are 0, 1, … 15, or 0 and 1 in a standard ' +
      'filter. Expired counters count as 0',
  })
  readonly values!: number[];
}

export class CountersView {
  @ApiProperty({ type: [LayerCountersView], description: 'Layers, oldest first' })
  readonly layers!: LayerCountersView[];
}

export class FoundCounterView {
  @ApiProperty({
    type: 'integer',
    description: 'Position in the segment: `#index` of BITFIELD, with the width in `cell`',
  })
  readonly index!: number;
  @ApiProperty({ type: 'integer', description: 'In a set that ages: 0 if the counter has expired' })
  readonly value!: number;
}

export class LayerFindingView {
  @ApiProperty({ type: 'integer', description: 'Number of the layer. 0 is the oldest' })
  readonly layer!: number;
  @ApiProperty({ type: 'integer', description: 'Segment in the layer' }) readonly segment!: number;
  @ApiProperty({ type: 'integer', description: 'Page in the segment' }) readonly page!: number;
  @ApiProperty({
    enum: ['u1', 'u4', 'u8'],
    description:
      'Width of a cell: `u1` in a standard filter, `u4` in a counting filter, `u8` in a set that ages',
  })
  readonly cell!: string;
  @ApiProperty({ required: false, description: 'Redis store: the Redis key that holds the segment' })
  readonly redisKey?: string;
  @ApiProperty({ description: 'All counters are above zero' }) readonly claims!: boolean;
  @ApiProperty({ type: [FoundCounterView], description: "The item's k counters" })
  readonly counters!: FoundCounterView[];
  @ApiProperty({
    required: false,
    format: 'date-time',
    description:
      'For a set that ages: when the item expires in this layer, unless it is visited again. ' +
      'Absent if the layer does not claim it',
  })
  readonly expires?: string;
}

const ANSWER = {
  enum: ['seen', 'unseen'],
  description:
    'Whether a layer claims the item, and the item is not hidden. During a sync, only the layers that existed ' +
    'before it are checked',
} as const;

const HIDDEN = {
  required: false,
  type: Boolean,
  description: 'For a set that ages: the item was forgotten, but other items keep its counters above zero',
} as const;

const LAYERS: { type: [typeof LayerFindingView]; description: string } = {
  type: [LayerFindingView],
  description: 'Layers, oldest first',
};

/** An item's cells, and the result. */
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
  @ApiProperty({ description: 'S2 to S12, or the member of `urlProfile` that turns the rule on' })
  readonly rule!: string;
  @ApiProperty() readonly before!: string;
  @ApiProperty() readonly after!: string;
}

/** An invalid URL has only `url` and `invalid`. A valid one has all other members. */
export class ExplainedUrlView {
  @ApiProperty({ description: 'As received' }) readonly url!: string;
  @ApiProperty({ required: false, description: 'Why the URL has no key' }) readonly invalid?: string;
  @ApiProperty({ required: false, description: 'The key by which the set compares URLs' })
  readonly key?: string;
  @ApiProperty({
    required: false,
    type: [UrlStepView],
    description: 'The rules that changed the URL, in order. The last rule yields the key',
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
