import { ApiProperty } from '@nestjs/swagger';
import { SCOPES, type Scope } from '../auth/scope.js';
import type { ApiKey } from './api-key.js';

/** A key as lists show it: nothing of its secret. */
export class KeyView {
  @ApiProperty({ description: '16 hex digits, a part of the key' }) readonly id!: string;
  @ApiProperty() readonly name!: string;
  @ApiProperty({ enum: SCOPES, isArray: true }) readonly scopes!: readonly Scope[];
  @ApiProperty({ required: false, description: 'Absent: all names' }) readonly prefix?: string;
  @ApiProperty({ format: 'date-time' }) readonly createdAt!: string;
  @ApiProperty({ required: false, format: 'date-time', description: 'Absent: never' })
  readonly expiresAt?: string;
}

export class NewKeyView extends KeyView {
  @ApiProperty({ description: 'The key itself, shown this once' }) readonly key!: string;
}

export class KeyListView {
  @ApiProperty({ type: [KeyView] }) readonly keys!: KeyView[];
}

/** A key as administrators see it. */
export function keyView({
  id,
  name,
  scopes,
  prefix,
  createdAt,
  expiresAt,
}: ApiKey): Pick<KeyView, keyof KeyView> {
  return {
    id,
    name,
    scopes,
    ...(prefix !== '' && { prefix }),
    createdAt: new Date(createdAt).toISOString(),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  };
}
