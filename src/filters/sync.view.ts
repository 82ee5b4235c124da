import { ApiProperty } from '@nestjs/swagger';
import { forgottenBy, type Sync, type SyncState } from '#store';

const STATES: readonly SyncState[] = ['open', 'committing', 'committed', 'abandoned'];

/** A sync of a filter or visited set. A finished sync has its final figures. */
export class SyncView {
  @ApiProperty({ example: '9f3c1e0a7b5d2468' }) readonly id!: string;
  @ApiProperty({
    enum: STATES,
    description:
      '`open`: takes items. `committing`: in progress, and cannot be cancelled. `committed`, ' +
      '`abandoned`: finished',
  })
  readonly state!: SyncState;
  @ApiProperty({ format: 'date-time' }) readonly openedAt!: string;
  @ApiProperty({ type: 'integer', description: 'New capacity, applied on commit' })
  readonly capacity!: number;
  @ApiProperty({ description: 'New error rate, applied on commit' }) readonly errorRate!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Items listed so far, except `invalid` and `forgotten` ones',
  })
  readonly listed!: number;
  @ApiProperty({ type: 'integer', description: 'Listed items that got `new`' })
  readonly new!: number;
  @ApiProperty({ type: 'integer', description: 'Items that the commit would forget, or has forgotten' })
  readonly wouldForget!: number;
  @ApiProperty({ type: 'integer', description: 'Items in the filter, except those that only the sync has' })
  readonly items!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Bytes in the layers that the sync fills. 0 once it has finished',
  })
  readonly memoryBytes!: number;
  @ApiProperty({ required: false, description: 'Why the sync was abandoned' }) readonly reason?: string;
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
