import { ApiProperty } from '@nestjs/swagger';
import type { HostView as StoredHost } from '#store';
import { perHostView } from '../filters/per-host.js';

const COUNT = { type: 'integer' } as const;
const OWN = {
  required: false,
  type: 'integer',
  description: "The host's own setting. Absent: the set's setting applies",
} as const;

/** A host in a set with `perHost`. */
export class HostView {
  @ApiProperty({ description: 'As in URL keys: lower-case ASCII, or an address' }) readonly host!: string;
  @ApiProperty({
    ...COUNT,
    description: 'URLs that wait, for example for their turn, or whose lease, delay or schedule has ended',
  })
  readonly waiting!: number;
  @ApiProperty({ ...COUNT, description: 'URLs hidden by a lease' }) readonly leased!: number;
  @ApiProperty({ ...COUNT, description: 'URLs released with a delay' }) readonly delayed!: number;
  @ApiProperty({ ...COUNT, description: 'URLs that come back at a later time' }) readonly scheduled!: number;
  @ApiProperty({ ...COUNT, description: 'Dead letters' }) readonly dead!: number;
  @ApiProperty({
    ...COUNT,
    required: false,
    description: 'URLs that count towards `maxUrls`. Absent if the set has no `maxUrls`',
  })
  readonly found?: number;
  @ApiProperty({
    required: false,
    format: 'date-time',
    description:
      'When workers can lease the next URL. If this time has passed, the host is due. Absent if no URL ' +
      'waits, or `maxLeased` URLs are leased. Leased URLs that were dropped or forgotten count towards `maxLeased` for ' +
      'up to about a minute, even if `leased` leaves them out',
  })
  readonly nextAt?: string;
  @ApiProperty({
    required: false,
    format: 'date-time',
    description: "Workers can't lease a URL before this time. Absent if the host is not blocked",
  })
  readonly blockedUntil?: string;
  @ApiProperty(OWN) readonly delaySeconds?: number;
  @ApiProperty(OWN) readonly maxLeased?: number;
  @ApiProperty(OWN) readonly maxUrls?: number;
}

export class HostListView {
  @ApiProperty({ type: [HostView] }) readonly hosts!: HostView[];
  @ApiProperty({ required: false, description: 'Cursor for the next page. Absent on the last page' })
  readonly next?: string;
}

export class DroppedView {
  @ApiProperty({ ...COUNT, description: 'Number of URLs that were dropped from the queue' })
  readonly dropped!: number;
}

export function hostView({ name, own = {}, nextAt, blockedUntil, ...counts }: StoredHost): HostView {
  return {
    host: name,
    ...counts,
    ...(nextAt !== undefined && { nextAt: new Date(nextAt).toISOString() }),
    ...(blockedUntil !== undefined && { blockedUntil: new Date(blockedUntil).toISOString() }),
    ...perHostView(own),
  };
}
