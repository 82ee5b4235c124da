import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import type { AgeStats, Filter } from '#store';
import type { Described } from '../filters/filter-lifecycle.js';
import { eitherOf, FilterView, filterView, LostFilterView, lostFilterView } from '../filters/filter.view.js';
import { PerHostView, perHostView } from '../filters/per-host.js';
import { UrlProfileDto } from './url-profile.dto.js';

export class QueueView {
  @ApiProperty({ type: 'integer', description: 'URLs that can be leased now' }) readonly waiting!: number;
  @ApiProperty({ type: 'integer', description: 'URLs hidden by a lease' }) readonly leased!: number;
  @ApiProperty({ type: 'integer', description: 'URLs released with a delay' }) readonly delayed!: number;
  @ApiProperty({
    type: 'integer',
    description:
      'URLs that come back at a later time: discovered with a delay, or acknowledged with `againAfterSeconds`',
  })
  readonly scheduled!: number;
  @ApiProperty({ type: 'integer', description: 'Dead letters' }) readonly dead!: number;
  @ApiProperty({
    type: 'integer',
    description:
      'Upper bound on how many of these URLs were forgotten. The other counts include them for about a minute',
  })
  readonly forgotten!: number;
  @ApiProperty({
    required: false,
    type: 'integer',
    description:
      'Seconds since the first waiting URL was discovered, or since it was due if it was scheduled. Absent if no URL is ' +
      'waiting',
  })
  readonly oldestSeconds?: number;
}

export class ExpiringView {
  @ApiProperty({
    format: 'date-time',
    description: 'When these URLs expire, unless they are visited again',
  })
  readonly at!: string;
  @ApiProperty({ type: 'integer' }) readonly items!: number;
}

/** A visited set's epochs, if it ages. */
export class AgeView {
  @ApiProperty({ type: 'integer', description: 'Number of the current epoch since 1970' })
  readonly epoch!: number;
  @ApiProperty({ description: 'Length of an epoch, a thirteenth of the age' }) readonly epochSeconds!: number;
  @ApiProperty({
    type: [ExpiringView],
    description: 'Number of URLs by expiry time, estimated like `items`',
  })
  readonly expiring!: ExpiringView[];
  @ApiProperty({
    type: 'integer',
    description:
      'Forgotten URLs whose counters other URLs keep above zero. The set stores them exactly ' +
      'until they expire',
  })
  readonly hidden!: number;
}

const URL_PROFILE = {
  type: UrlProfileDto,
  description: 'Contains `base`, `version`, and the rules that are on',
} as const;

export class VisitedSetView extends FilterView {
  @ApiProperty(URL_PROFILE) readonly urlProfile!: unknown;
  @ApiProperty({
    required: false,
    type: 'integer',
    description: 'As given on creation. Absent if there is no limit',
  })
  readonly maxAttempts?: number;
  @ApiProperty({
    required: false,
    type: 'integer',
    description: 'As given on creation. Absent if the set does not age',
  })
  readonly maxAgeSeconds?: number;
  @ApiProperty({
    required: false,
    type: PerHostView,
    description: 'As given on creation. Absent without `perHost`',
  })
  readonly perHost?: PerHostView;
  @ApiProperty({ required: false, type: AgeView, description: 'For a set that ages' })
  readonly age?: AgeView;
  @ApiProperty({ type: QueueView }) readonly queue!: QueueView;
}

export class LostVisitedSetView extends LostFilterView {
  @ApiProperty(URL_PROFILE) readonly urlProfile!: unknown;
}

@ApiExtraModels(VisitedSetView, LostVisitedSetView)
export class VisitedSetListView {
  @ApiProperty(eitherOf(VisitedSetView, LostVisitedSetView))
  readonly visitedSets!: (VisitedSetView | LostVisitedSetView)[];
  @ApiProperty({ required: false, description: 'Cursor for the next page. Absent on the last page' })
  readonly next?: string;
}

const EMPTY_QUEUE: QueueView = { waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 0, forgotten: 0 };

export function visitedSetView({ filter, stats }: Described): VisitedSetView {
  const { urlProfile, maxAttempts, maxAgeSeconds, perHost } = filter;
  return {
    ...filterView(filter, stats),
    urlProfile,
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
    ...(perHost && { perHost: perHostView(perHost) }),
    ...(stats.age && { age: ageView(stats.age) }),
    queue: stats.queue ?? EMPTY_QUEUE,
  };
}

function ageView({ epoch, epochMs, items, hidden }: AgeStats): AgeView {
  const expiring = items.map((count, left) => ({
    at: new Date((epoch + left + 1) * epochMs).toISOString(),
    items: count,
  }));
  return { epoch, epochSeconds: epochMs / 1_000, expiring: expiring.filter((one) => one.items > 0), hidden };
}

/** A visited set whose data is lost, as lists show it. */
export function lostVisitedSetView(filter: Filter): LostVisitedSetView {
  return { ...lostFilterView(filter), urlProfile: filter.urlProfile };
}

export class InvalidUrlView {
  @ApiProperty({ type: 'integer', description: 'Index in `results`, from 0' }) readonly index!: number;
  @ApiProperty() readonly reason!: string;
}

const COUNTS = {
  type: 'object',
  additionalProperties: { type: 'integer' },
  description: 'Number of URLs by verdict',
} as const;

class UrlResultsView {
  @ApiProperty(COUNTS) readonly counts!: Record<string, number>;
  @ApiProperty({ type: [InvalidUrlView] }) readonly invalid!: InvalidUrlView[];
}

export class VisitedView extends UrlResultsView {
  @ApiProperty({ enum: ['new', 'seen', 'invalid'], isArray: true }) readonly results!: string[];
}

export class DiscoveredView extends UrlResultsView {
  @ApiProperty({
    enum: ['new', 'seen', 'limited', 'invalid'],
    isArray: true,
    description:
      '`limited`, in sets with `perHost`: the URL was neither visited nor queued, because its host already has ' +
      '`maxUrls` URLs, or because the queue already has a million hosts',
  })
  readonly results!: string[];
}

export class CheckedView extends UrlResultsView {
  @ApiProperty({ enum: ['seen', 'unseen', 'invalid'], isArray: true }) readonly results!: string[];
}

export class ForgottenView extends UrlResultsView {
  @ApiProperty({ enum: ['forgotten', 'absent', 'saturated', 'invalid'], isArray: true })
  readonly results!: string[];
}

const PAYLOAD = { required: false, description: "The URL's payload. Absent if it has none" } as const;

export class LeasedUrlView {
  @ApiProperty({ description: 'Identifies this lease' }) readonly id!: string;
  @ApiProperty({ description: 'As received' }) readonly url!: string;
  @ApiProperty(PAYLOAD) readonly payload?: string;
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

export class ExtendedView {
  @ApiProperty({ enum: ['extended', 'expired', 'unknown'], isArray: true }) readonly results!: string[];
}

export class DeadLetterView {
  @ApiProperty({ description: 'Identifies this dead letter' }) readonly id!: string;
  @ApiProperty({ description: 'As received' }) readonly url!: string;
  @ApiProperty(PAYLOAD) readonly payload?: string;
  @ApiProperty({ type: 'integer', description: 'Number of leases' }) readonly attempt!: number;
  @ApiProperty({ description: 'Reason for the last release, or "the lease ended"' })
  readonly reason!: string;
}

export class DeadLettersView {
  @ApiProperty({ type: [DeadLetterView] }) readonly urls!: DeadLetterView[];
  @ApiProperty({ required: false, description: 'Cursor for the next page. Absent on the last page' })
  readonly next?: string;
}

export class PutBackView {
  @ApiProperty({ enum: ['put back', 'unknown'], isArray: true }) readonly results!: string[];
}

export class PurgedView {
  @ApiProperty({ enum: ['purged', 'unknown'], isArray: true }) readonly results!: string[];
}
