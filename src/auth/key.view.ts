import { ApiProperty } from '@nestjs/swagger';
import type { Usage } from '#store';
import { SCOPES, type Scope } from '../request/scope.js';
import type { ApiKey } from './api-key.js';

/** A key in lists, without its secret. */
export class KeyView {
  @ApiProperty({ description: '16 hex digits, part of the key' }) readonly id!: string;
  @ApiProperty() readonly name!: string;
  @ApiProperty({ enum: SCOPES, isArray: true }) readonly scopes!: readonly Scope[];
  @ApiProperty({ required: false, description: 'Absent: all names' }) readonly prefix?: string;
  @ApiProperty({ required: false, type: 'integer', description: 'Absent: no limit' })
  readonly maxFilters?: number;
  @ApiProperty({ required: false, type: 'integer', description: 'Absent: no limit' })
  readonly maxBytes?: number;
  @ApiProperty({ format: 'date-time' }) readonly createdAt!: string;
  @ApiProperty({ required: false, format: 'date-time', description: 'Absent: never' })
  readonly expiresAt?: string;
}

export class NewKeyView extends KeyView {
  @ApiProperty({ description: 'The key itself. Only this answer shows it' }) readonly key!: string;
}

export class UsageView implements Usage {
  @ApiProperty({ type: 'integer' }) readonly filters!: number;
  @ApiProperty({ type: 'integer' }) readonly bytes!: number;
}

export class ListedKeyView extends KeyView {
  @ApiProperty({
    required: false,
    description: 'Current usage under the prefix. Absent for a key without a prefix',
  })
  readonly usage?: UsageView;
  @ApiProperty({
    required: false,
    format: 'date-time',
    description:
      'When this instance last accepted the key. Absent if it has not accepted the key since it started',
  })
  readonly lastUsedAt?: string;
}

export class KeyListView {
  @ApiProperty({ type: [ListedKeyView] }) readonly keys!: ListedKeyView[];
}

/** Converts a key to its view for administrators. */
export function keyView({
  id,
  name,
  scopes,
  prefix,
  maxFilters,
  maxBytes,
  createdAt,
  expiresAt,
}: ApiKey): Pick<KeyView, keyof KeyView> {
  return {
    id,
    name,
    scopes,
    ...(prefix !== '' && { prefix }),
    ...(maxFilters !== undefined && { maxFilters }),
    ...(maxBytes !== undefined && { maxBytes }),
    createdAt: new Date(createdAt).toISOString(),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  };
}

/**
 * Converts a key to its view in lists. `usage` is the usage under the key's prefix, if it has one. `lastUsed` is in ms
 * since the epoch.
 */
export function listedKeyView(
  key: ApiKey,
  usage: Usage | undefined,
  lastUsed: number | undefined,
): ListedKeyView {
  return {
    ...keyView(key),
    ...(usage && { usage }),
    ...(lastUsed !== undefined && { lastUsedAt: new Date(lastUsed).toISOString() }),
  };
}
