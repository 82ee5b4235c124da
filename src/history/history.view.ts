import { ApiProperty } from '@nestjs/swagger';
import type { Point } from './point-ring.js';

export class QueuePointView {
  @ApiProperty({ type: 'integer' }) readonly waiting!: number;
  @ApiProperty({ type: 'integer' }) readonly leased!: number;
  @ApiProperty({ type: 'integer' }) readonly delayed!: number;
  @ApiProperty({ type: 'integer' }) readonly dead!: number;
}

/** A filter or visited set at a moment. The members are those of its description. */
export class PointView {
  @ApiProperty({ format: 'date-time' }) readonly at!: string;
  @ApiProperty({ type: 'integer' }) readonly items!: number;
  @ApiProperty({ minimum: 0, maximum: 1 }) readonly fill!: number;
  @ApiProperty() readonly estimatedErrorRate!: number;
  @ApiProperty({ type: 'integer', description: 'Since it was made, as are the three below' })
  readonly added!: number;
  @ApiProperty({ type: 'integer' }) readonly duplicate!: number;
  @ApiProperty({ type: 'integer' }) readonly removed!: number;
  @ApiProperty({ type: 'integer' }) readonly refused!: number;
  @ApiProperty({ required: false, type: QueuePointView, description: 'Of a visited set' })
  readonly queue?: QueuePointView;
}

export class HistoryView {
  @ApiProperty({ description: 'Whether this instance notes how it is; if not, there are too many others' })
  readonly watched!: boolean;
  @ApiProperty({
    format: 'date-time',
    description:
      'When this instance began to watch what is there now, or the start of the time asked for, whichever is later',
  })
  readonly since!: string;
  @ApiProperty({ type: 'integer', description: 'From one point to the next; more where the store was away' })
  readonly intervalSeconds!: number;
  @ApiProperty({ type: [PointView], description: 'Oldest first' }) readonly points!: PointView[];
}

export function pointView(
  { at, waiting, leased, delayed, dead, ...point }: Point,
  queued: boolean,
): PointView {
  return {
    at: new Date(at).toISOString(),
    ...point,
    ...(queued && { queue: { waiting, leased, delayed, dead } }),
  };
}
