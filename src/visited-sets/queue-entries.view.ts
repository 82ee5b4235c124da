import { ApiProperty } from '@nestjs/swagger';
import { ENTRY_STATES, type QueueEntry } from '#store';
import { decodeQueued } from './queued-url.js';

const COUNT = { type: 'integer' } as const;
const NEXT = {
  required: false,
  description: 'Send it as `cursor` to continue. Absent at the end of the queue',
} as const;

export class QueuedUrlView {
  @ApiProperty({
    description:
      'Identifies the URL at its current place in the queue. If the URL moves in the queue, its id changes. ' +
      'Leases and dead letters have different ids',
  })
  readonly id!: string;
  @ApiProperty({ description: 'As received' }) readonly url!: string;
  @ApiProperty({ required: false, description: "The URL's payload. Absent if it has none" })
  readonly payload?: string;
  @ApiProperty({
    enum: [...ENTRY_STATES],
    description:
      "`waiting`: can be leased, or waits for its host's turn. `leased`: hidden by a lease. `delayed`: released " +
      'with a delay. `scheduled`: comes back at a set time. `dead`: a dead letter, or a URL without attempts left ' +
      'whose lease has ended',
  })
  readonly state!: string;
  @ApiProperty({ ...COUNT, description: 'Number of leases so far' }) readonly attempt!: number;
  @ApiProperty({
    required: false,
    format: 'date-time',
    description:
      'When the URL joined the queue: when it was discovered or, if it has been scheduled since then, when it last ' +
      'came back. Absent while it is scheduled',
  })
  readonly queuedAt?: string;
  @ApiProperty({
    required: false,
    format: 'date-time',
    description:
      'When the URL can be leased again: the end of its lease or delay, or its scheduled time. Absent for ' +
      '`waiting` and `dead`',
  })
  readonly dueAt?: string;
  @ApiProperty({ required: false, description: 'For a dead letter: the reason for its last release' })
  readonly reason?: string;
  @ApiProperty({ required: false, description: "For a set with `perHost`: the URL's host" })
  readonly host?: string;
}

export class QueuedUrlsView {
  @ApiProperty({ type: [QueuedUrlView] }) readonly urls!: QueuedUrlView[];
  @ApiProperty(NEXT) readonly next?: string;
}

export class DroppedQueuedView {
  @ApiProperty({
    ...COUNT,
    description: 'Number of URLs that match, in the part of the queue that this call read',
  })
  readonly matched!: number;
  @ApiProperty({
    ...COUNT,
    description:
      'Number of URLs that this call dropped from the queue: fewer than `matched` if workers or other calls took some ' +
      'of them first. With `dryRun`: 0',
  })
  readonly dropped!: number;
  @ApiProperty({
    ...COUNT,
    required: false,
    description: 'With `forget`: number of these URLs that it also forgot',
  })
  readonly forgotten?: number;
  @ApiProperty(NEXT) readonly next?: string;
}

export function queuedUrlView(entry: QueueEntry): QueuedUrlView {
  const { id, state, attempt, discoveredAt, dueAt, reason, host } = entry;
  const { url, payload } = decodeQueued(entry.payload);
  return {
    id,
    url,
    ...(payload !== undefined && { payload }),
    state,
    attempt,
    // For a scheduled URL, the store sets the discovery time to the scheduled time.
    ...(state !== 'scheduled' && { queuedAt: new Date(discoveredAt * 1_000).toISOString() }),
    ...(dueAt !== undefined && { dueAt: new Date(dueAt).toISOString() }),
    ...(reason !== undefined && { reason }),
    ...(host !== undefined && { host }),
  };
}
