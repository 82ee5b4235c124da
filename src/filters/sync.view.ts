import { ApiProperty } from '@nestjs/swagger';
import { forgottenBy, type Sync, type SyncState } from '#store';

const STATES: readonly SyncState[] = ['open', 'committing', 'committed', 'abandoned'];

/** A sync of a filter or visited set. Of one that is over the figures are those of its end. */
export class SyncView {
  @ApiProperty({ example: '9f3c1e0a7b5d2468' }) readonly id!: string;
  @ApiProperty({
    enum: STATES,
    description: 'open takes lines; committing goes on by itself, and has no way back; the others are over',
  })
  readonly state!: SyncState;
  @ApiProperty({ format: 'date-time' }) readonly openedAt!: string;
  @ApiProperty({ type: 'integer', description: 'What the filter has once it is committed' })
  readonly capacity!: number;
  @ApiProperty({ description: 'What the filter has once it is committed' }) readonly errorRate!: number;
  @ApiProperty({ type: 'integer', description: 'Lines taken, those answered invalid or forgotten apart' })
  readonly listed!: number;
  @ApiProperty({ type: 'integer', description: 'How many of them were answered new' })
  readonly new!: number;
  @ApiProperty({ type: 'integer', description: 'Items that a commit would forget, or has forgotten' })
  readonly wouldForget!: number;
  @ApiProperty({ type: 'integer', description: 'Items of the filter; not those that only the list has' })
  readonly items!: number;
  @ApiProperty({ type: 'integer', description: 'Of the layers that it fills; 0 once it is over' })
  readonly memoryBytes!: number;
  @ApiProperty({ required: false, description: 'Why it was abandoned' }) readonly reason?: string;
}

export function syncView(sync: Sync): { readonly [K in keyof SyncView]: SyncView[K] } {
  const { id, state, openedAt, capacity, errorRate, listed, items, bytes, reason } = sync;
  return {
    id,
    state,
    openedAt: new Date(openedAt).toISOString(),
    capacity,
    errorRate,
    listed,
    new: sync.new,
    wouldForget: forgottenBy(sync),
    items,
    memoryBytes: bytes,
    ...(reason !== undefined && { reason }),
  };
}
