import { Injectable } from '@nestjs/common';
import { AuditLog } from '../audit/audit-log.js';
import type { Principal } from '../auth/principal.js';
import { SCOPES } from '../auth/scope.js';
import { invalid, ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { ApiKeys } from './api-keys.js';
import type { CreateKeyDto } from './key.dto.js';
import { digestSecret, formatKey, makeKeyText } from './key-text.js';
import { keyView, type KeyListView, type NewKeyView } from './key.view.js';

/** Who keys are managed for. */
export type Manager = Pick<Principal, 'id' | 'name'>;

/** Keys as administrators see them, over REST and on the command line. Every change is audited. */
@Injectable()
export class KeysService {
  constructor(
    private readonly keys: ApiKeys,
    private readonly audit: AuditLog,
  ) {}

  /** The one time that the secret is shown: not kept, it cannot be shown again, not even to a repeated request. */
  async create(dto: CreateKeyDto, manager: Manager): Promise<NewKeyView> {
    const { name, scopes, prefix = '' } = dto;
    const now = Date.now();
    const expiresAt = dto.expiresAt === undefined ? undefined : timeAfter(now, dto.expiresAt);
    const text = makeKeyText();
    const key = {
      id: text.id,
      name,
      scopes: SCOPES.filter((scope) => scopes.includes(scope)),
      prefix,
      digest: digestSecret(text.secret),
      createdAt: now,
      expiresAt,
    };
    await this.keys.add(key);
    const view = keyView(key);
    this.audit.keyMade(manager, view);
    return { ...view, key: formatKey(text) };
  }

  async list(): Promise<KeyListView> {
    return { keys: (await this.keys.list()).map(keyView) };
  }

  /** KEY_NOT_FOUND, so that a mistyped id is not taken for a revoked key. */
  async revoke(id: string, manager: Manager): Promise<void> {
    if (!(await this.keys.revoke(id))) throw new ProblemError('KEY_NOT_FOUND', `there is no key ${show(id)}`);
    this.audit.keyRevoked(manager, id);
  }
}

function timeAfter(now: number, text: string): number {
  const time = Date.parse(text);
  if (time > now) return time;
  throw invalid('#/expiresAt', `expiresAt must be a time to come, not ${show(text)}`);
}
