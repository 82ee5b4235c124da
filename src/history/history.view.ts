import { ApiProperty } from '@nestjs/swagger';
import type { Point } from './point-ring.js';

export class QueuePointView {
  @ApiProperty({ type: 'integer' }) readonly waiting!: number;
  @ApiProperty({ type: 'integer' }) readonly leased!: number;
  @ApiProperty({ type: 'integer' }) readonly delayed!: number;
  @ApiProperty({ type: 'integer' }) readonly scheduled!: number;
  @ApiProperty({ type: 'integer' }) readonly dead!: number;
}

/** A filter or visited set at one time. Has the same members as its description. */
export class PointView {
  @ApiProperty({ format: 'date-time' }) readonly at!: string;
  @ApiProperty({ type: 'integer' }) readonly items!: number;
  @ApiProperty({ minimum: 0, maximum: 1 }) readonly fill!: number;
  @ApiProperty() readonly estimatedErrorRate!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Counted since the filter was created, like the next three members',
  })
  readonly added!: number;
  @ApiProperty({ type: 'integer' }) readonly duplicate!: number;
  @ApiProperty({ type: 'integer' }) readonly removed!: number;
  @ApiProperty({ type: 'integer' }) readonly refused!: number;
  @ApiProperty({ required: false, type: QueuePointView, description: 'For a visited set' })
  readonly queue?: QueuePointView;
}

export class HistoryView {
  @ApiProperty({
    description: 'Whether this instance records the history. `false` if it already watches 500 filters',
  })
  readonly watched!: boolean;
  @ApiProperty({
    format: 'date-time',
    description:
      'When this instance began to record this filter, or the start of the requested time, ' +
      'whichever is later',
  })
  readonly since!: string;
  @ApiProperty({
    type: 'integer',
    description: 'Seconds between two points. Points are further apart where the store was unavailable',
  })
  readonly intervalSeconds!: number;
  @ApiProperty({ type: [PointView], description: 'Oldest first' }) readonly points!: PointView[];
}

export function pointView(
  { at, waiting, leased, delayed, scheduled, dead, ...point }: Point,
  queued: boolean,
): PointView {
  return {
    at: new Date(at).toISOString(),
    ...point,
    ...(queued && { queue: { waiting, leased, delayed, scheduled, dead } }),
  };
}
