import { ApiProperty } from '@nestjs/swagger';
import { SyncView } from '../filters/sync.view.js';
import { InvalidUrlView } from '../visited-sets/visited-set.view.js';

// Shapes of answers for the API description.

export class CommittedSyncView extends SyncView {
  @ApiProperty({
    required: false,
    description: 'With `dryRun`: the maximum share of the items that the commit may forget',
  })
  readonly maxForgetShare?: number;
  @ApiProperty({
    required: false,
    description: 'With `dryRun`: whether the service would refuse the commit with `SYNC_WOULD_FORGET`',
  })
  readonly refused?: boolean;
}

export class KeptItemsView {
  @ApiProperty({ enum: ['kept', 'new', 'forgotten'], isArray: true }) readonly results!: string[];
}

export class KeptUrlsView {
  @ApiProperty({ enum: ['kept', 'new', 'forgotten', 'invalid'], isArray: true }) readonly results!: string[];
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    description: 'Number of URLs by verdict',
  })
  readonly counts!: Record<string, number>;
  @ApiProperty({ type: [InvalidUrlView] }) readonly invalid!: InvalidUrlView[];
}
