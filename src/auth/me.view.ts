import { ApiProperty } from '@nestjs/swagger';
import type { Principal } from '../request/principal.js';
import { SCOPES, type Scope } from '../request/scope.js';

/** The request's principal, and its permissions. */
export class MeView {
  @ApiProperty({
    description: "`key:` and the key's id, `jwt:` and the token's subject, or `anonymous`",
  })
  readonly id!: string;
  @ApiProperty({ description: "The key's name, or the token's subject" })
  readonly name!: string;
  @ApiProperty({
    enum: SCOPES,
    isArray: true,
    description: 'As given: `write` includes `read`, and `admin` includes `write`',
  })
  readonly scopes!: readonly Scope[];
  @ApiProperty({ required: false, description: 'Absent: all names' }) readonly prefix?: string;
  @ApiProperty({
    required: false,
    format: 'date-time',
    description: 'When the credentials expire. Absent: never',
  })
  readonly expiresAt?: string;
}

export function meView({ id, name, scopes, prefix, credential }: Principal): MeView {
  const end = credential && ('keyId' in credential ? credential.expiresAt : credential.validUntil);
  return {
    id,
    name,
    scopes,
    ...(prefix !== '' && { prefix }),
    ...(end !== undefined && { expiresAt: new Date(end).toISOString() }),
  };
}
