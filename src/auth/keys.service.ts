import { Inject, Injectable } from '@nestjs/common';
import { AuditLog } from './audit-log.js';
import type { Principal } from '../request/principal.js';
import { SCOPES } from '../request/scope.js';
import { invalid, ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { Clock } from '../store/clock.token.js';
import { Store } from '../store/store.token.js';
import { timeIn } from '../validation/time.js';
import { ApiKeys } from './api-keys.js';
import type { ApiKey } from './api-key.js';
import { DEFAULT_OVERLAP_SECONDS, type CreateKeyDto, type RotateKeyDto } from './key.dto.js';
import { digestSecret, formatKey, makeKeyText } from './key-text.js';
import { keyView, listedKeyView, type KeyListView, type NewKeyView } from './key.view.js';

/** The administrator who manages keys. */
export type Manager = Pick<Principal, 'id' | 'name'>;

/** Manages keys for administrators, over REST and on the command line. Audits every change. */
@Injectable()
export class KeysService {
  constructor(
    private readonly keys: ApiKeys,
    private readonly audit: AuditLog,
    @Inject(Store) private readonly store: Pick<Store, 'usage'>,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Creates a key. Only this answer has the secret. The service doesn't store it, so even a repeat can't show it again.
   */
  async create(dto: CreateKeyDto, manager: Manager): Promise<NewKeyView> {
    const { name, scopes, prefix = '', maxFilters, maxBytes } = dto;
    refuseUnprefixed(dto);
    const now = this.clock.now();
    const expiresAt = dto.expiresAt === undefined ? undefined : timeAfter(now, dto.expiresAt);
    const inOrder = SCOPES.filter((scope) => scopes.includes(scope));
    return this.make(
      { name, scopes: inOrder, prefix, maxFilters, maxBytes, createdAt: now, expiresAt },
      manager,
    );
  }

  /**
   * Replaces a key. The new key has the old one's permissions and lifetime, and the old one expires after
   * `overlapSeconds`. At any time, at least one of the two is valid, even if a step fails. Throws KEY_NOT_FOUND.
   */
  async rotate(id: string, dto: RotateKeyDto, manager: Manager): Promise<NewKeyView> {
    const { overlapSeconds = DEFAULT_OVERLAP_SECONDS } = dto;
    const old = (await this.keys.list()).find((key) => key.id === id);
    if (!old) throw noKey(id);
    const now = this.clock.now();
    const expiresAt = old.expiresAt === undefined ? undefined : now + (old.expiresAt - old.createdAt);
    const made = await this.make({ ...old, createdAt: now, expiresAt }, manager);
    const end = Math.min(old.expiresAt ?? Infinity, now + overlapSeconds * 1_000);
    if (!(await this.keys.replace({ ...old, expiresAt: end }))) {
      // The old key has been revoked in the meantime, so revoke its successor too.
      await this.revoke(made.id, manager);
      throw noKey(id);
    }
    this.audit.keyRotated(manager, keyView({ ...old, expiresAt: end }), made.id);
    return made;
  }

  /** Creates a key with a new secret. */
  private async make(described: Omit<ApiKey, 'id' | 'digest'>, manager: Manager): Promise<NewKeyView> {
    const text = makeKeyText();
    const key = { ...described, id: text.id, digest: digestSecret(text.secret) };
    await this.keys.add(key);
    const view = keyView(key);
    this.audit.keyMade(manager, view);
    return { ...view, key: formatKey(text) };
  }

  async list(): Promise<KeyListView> {
    const keys = await this.keys.list();
    const prefixes = [...new Set(keys.map(({ prefix }) => prefix))].filter((prefix) => prefix !== '');
    const usage = await this.store.usage(prefixes);
    return {
      keys: keys.map((key) =>
        listedKeyView(key, usage[prefixes.indexOf(key.prefix)], this.keys.lastUsed(key.id)),
      ),
    };
  }

  /** Revokes a key. Throws KEY_NOT_FOUND for an unknown id, so that a mistyped id doesn't look like a revoked key. */
  async revoke(id: string, manager: Manager): Promise<void> {
    if (!(await this.keys.revoke(id))) throw noKey(id);
    this.audit.keyRevoked(manager, id);
  }
}

function noKey(id: string): ProblemError {
  return new ProblemError('KEY_NOT_FOUND', `API key ${show(id)} does not exist; GET /v1/keys lists all keys`);
}

/** Throws VALIDATION_FAILED for a limit without a prefix, because it would count all callers' filters. */
function refuseUnprefixed(dto: CreateKeyDto): void {
  if (dto.prefix !== undefined) return;
  for (const limit of ['maxFilters', 'maxBytes'] as const) {
    const value = dto[limit];
    if (value === undefined) continue;
    throw invalid(`#/${limit}`, `${limit} needs a prefix: send a prefix, or leave out ${limit} ${value}`);
  }
}

/** Throws VALIDATION_FAILED if the time doesn't exist or is in the past. */
function timeAfter(now: number, text: string): number {
  const time = timeIn('expiresAt', text);
  if (time > now) return time;
  throw invalid('#/expiresAt', `expiresAt must be in the future, not ${show(text)}`);
}
