import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import type { Filter } from '#store';
import type { Described } from '../filters/filter-lifecycle.js';
import { eitherOf, FilterView, filterView, LostFilterView, lostFilterView } from '../filters/filter.view.js';
import { UrlProfileDto } from './url-profile.dto.js';

export class QueueView {
  @ApiProperty({ type: 'integer', description: 'URLs that can be leased' }) readonly waiting!: number;
  @ApiProperty({ type: 'integer', description: 'URLs hidden by a lease' }) readonly leased!: number;
}

const URL_PROFILE = {
  type: UrlProfileDto,
  description: 'With `base` and `version`; of the rules those that are on',
} as const;

export class VisitedSetView extends FilterView {
  @ApiProperty(URL_PROFILE) readonly urlProfile!: unknown;
  @ApiProperty({ type: QueueView }) readonly queue!: QueueView;
}

export class LostVisitedSetView extends LostFilterView {
  @ApiProperty(URL_PROFILE) readonly urlProfile!: unknown;
}

@ApiExtraModels(VisitedSetView, LostVisitedSetView)
export class VisitedSetListView {
  @ApiProperty(eitherOf(VisitedSetView, LostVisitedSetView))
  readonly visitedSets!: (VisitedSetView | LostVisitedSetView)[];
  @ApiProperty({ required: false, description: 'Cursor of the next page; absent on the last' })
  readonly next?: string;
}

export function visitedSetView({ filter, stats }: Described): VisitedSetView {
  const { waiting, leased } = stats.queue ?? { waiting: 0, leased: 0 };
  return { ...filterView(filter, stats), urlProfile: filter.urlProfile, queue: { waiting, leased } };
}

/** A visited set whose data is lost, as lists show it. */
export function lostVisitedSetView(filter: Filter): LostVisitedSetView {
  return { ...lostFilterView(filter), urlProfile: filter.urlProfile };
}

export class InvalidUrlView {
  @ApiProperty({ type: 'integer', description: 'Place in `results`, from 0' }) readonly index!: number;
  @ApiProperty() readonly reason!: string;
}

const COUNTS = {
  type: 'object',
  additionalProperties: { type: 'integer' },
  description: 'URLs by verdict',
} as const;

class UrlResultsView {
  @ApiProperty(COUNTS) readonly counts!: Record<string, number>;
  @ApiProperty({ type: [InvalidUrlView] }) readonly invalid!: InvalidUrlView[];
}

export class MarkedView extends UrlResultsView {
  @ApiProperty({ enum: ['new', 'seen', 'invalid'], isArray: true }) readonly results!: string[];
}

export class CheckedView extends UrlResultsView {
  @ApiProperty({ enum: ['seen', 'unseen', 'invalid'], isArray: true }) readonly results!: string[];
}

export class ForgottenView extends UrlResultsView {
  @ApiProperty({ enum: ['forgotten', 'absent', 'saturated', 'invalid'], isArray: true })
  readonly results!: string[];
}

export class LeasedUrlView {
  @ApiProperty({ description: 'Opaque; names this lease' }) readonly id!: string;
  @ApiProperty({ description: 'As it came in' }) readonly url!: string;
  @ApiProperty({ type: 'integer', description: '1 on the first lease' }) readonly attempt!: number;
}

export class LeasesView {
  @ApiProperty({ type: [LeasedUrlView] }) readonly urls!: LeasedUrlView[];
}

export class AckedView {
  @ApiProperty({ enum: ['acked', 'expired', 'unknown'], isArray: true }) readonly results!: string[];
}

export class ReleasedView {
  @ApiProperty({ enum: ['released', 'expired', 'unknown'], isArray: true }) readonly results!: string[];
}
