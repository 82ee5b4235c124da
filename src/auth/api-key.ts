import type { Credential, Quota } from '#store';
import { SCOPES, type Scope } from '../request/scope.js';

/** An API key without its secret. */
export interface ApiKey {
  readonly id: string;
  /** A label for people. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Empty if the key may use all names. */
  readonly prefix: string;
  /** Maximum number of filters and visited sets under the key's prefix when it creates one. Undefined: no limit. */
  readonly maxFilters: number | undefined;
  /** The same kind of limit, on the bytes of their cells. */
  readonly maxBytes: number | undefined;
  /** SHA-256 of the secret. */
  readonly digest: Buffer;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. Undefined: never. */
  readonly expiresAt: number | undefined;
}

/** A key as the store keeps it: JSON, with the digest in hex. */
export function encodeKey({ id, digest, ...rest }: ApiKey): Credential {
  return { id, value: JSON.stringify({ ...rest, sha256: digest.toString('hex') }) };
}

/** Returns undefined if the value is invalid. An unreadable key grants no access. */
export function decodeKey({ id, value }: Credential): ApiKey | undefined {
  const kept = parse(value);
  if (!kept) return undefined;
  const { name, scopes, prefix, maxFilters, maxBytes, sha256, createdAt, expiresAt } = kept;
  const whole =
    typeof name === 'string' &&
    Array.isArray(scopes) &&
    scopes.every(isScope) &&
    typeof prefix === 'string' &&
    isLimit(maxFilters) &&
    isLimit(maxBytes) &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    typeof createdAt === 'number' &&
    (typeof expiresAt === 'number' || expiresAt === undefined);
  if (!whole) return undefined;
  const digest = Buffer.from(sha256, 'hex');
  return { id, name, scopes, prefix, maxFilters, maxBytes, digest, createdAt, expiresAt };
}

/** The key's quota. Undefined: no limits. */
export function quotaOf({ prefix, maxFilters, maxBytes }: ApiKey): Quota | undefined {
  return maxFilters === undefined && maxBytes === undefined ? undefined : { prefix, maxFilters, maxBytes };
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isLimit(value: unknown): value is number | undefined {
  return value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value > 0);
}

function isScope(value: unknown): value is Scope {
  return SCOPES.some((scope) => scope === value);
}
