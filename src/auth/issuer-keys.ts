import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type CryptoKey,
  type FlattenedJWSInput,
  type JWTHeaderParameters,
} from 'jose';
import type { Clock } from '#store';
import { ProblemError } from '../errors/problem.js';
import { isKeyUrl, type OidcSettings } from '../config/auth.js';

const FETCH_TIMEOUT_MS = 5_000;
/** Maximum size of a configuration or a key set. Most are a few KiB. */
const MAX_ANSWER_BYTES = 1_024 * 1_024;
/** Pause between requests to the issuer after an unusable answer. */
export const PAUSE_MS = 1_000;
/** Minimum age of the keys before a token signed with an unknown key makes the service fetch them again. */
export const ROTATION_MS = 5_000;
/** Maximum age of the keys. */
const MAX_AGE_MS = 600_000;

type KeySet = ReturnType<typeof createRemoteJWKSet>;

/** Errors that are the token's fault, not the issuer's. */
const TOKEN_FAULTS = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];

/** An issuer's signing keys. Fetched on first use, kept, and fetched again when the issuer uses a new key. */
export class IssuerKeys {
  private keySet: Promise<KeySet> | undefined;
  private restUntil = -Infinity;

  constructor(
    private readonly settings: Pick<OidcSettings, 'issuer' | 'jwksUrl'>,
    private readonly clock: Pick<Clock, 'monotonic'>,
  ) {}

  /**
   * Finds the key that a token names. Throws JOSEError if it doesn't exist, and OVERLOADED while the keys are
   * unavailable.
   */
  async find(header: JWTHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> {
    try {
      this.keySet ??= this.open();
      const keySet = await this.keySet;
      return await keySet(header, token);
    } catch (cause) {
      if (TOKEN_FAULTS.some((fault) => cause instanceof fault)) throw cause;
      if (this.clock.monotonic() >= this.restUntil) this.restUntil = this.clock.monotonic() + PAUSE_MS;
      const detail = "the service can't check tokens now, because it can't fetch their issuer's keys; retry";
      throw new ProblemError('OVERLOADED', detail, { cause });
    }
  }

  private async open(): Promise<KeySet> {
    try {
      return createRemoteJWKSet(new URL(this.settings.jwksUrl ?? (await this.discover())), {
        timeoutDuration: FETCH_TIMEOUT_MS,
        cooldownDuration: ROTATION_MS,
        cacheMaxAge: MAX_AGE_MS,
        [customFetch]: (url, options) => this.fetch(url, options),
      });
    } catch (error) {
      this.keySet = undefined;
      throw error;
    }
  }

  /** Reads the keys' URL from the issuer's configuration. */
  private async discover(): Promise<string> {
    const { issuer } = this.settings;
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS);
    const response = await this.fetch(url, { redirect: 'manual', signal });
    if (response.status !== 200) throw new Error(`${url} returned status ${response.status}`);
    const configuration = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown } | null;
    if (configuration?.issuer !== issuer)
      throw new Error(`the configuration at ${url} belongs to another issuer`);
    const { jwks_uri: keys } = configuration;
    if (typeof keys === 'string' && isKeyUrl(keys)) return keys;
    throw new Error(`the configuration at ${url} has no usable jwks_uri`);
  }

  /** Pauses after a failure, so that callers can't flood the issuer by sending tokens. */
  private async fetch(url: string, options: RequestInit): Promise<Response> {
    if (this.clock.monotonic() < this.restUntil)
      throw new Error(`a request to ${url} failed recently; not retrying yet`);
    const response = await fetch(url, options);
    return new Response(await bodyOf(response, url), response);
  }
}

/** The decompressed body, or null if the answer can't have one. Throws if it exceeds MAX_ANSWER_BYTES. */
async function bodyOf({ body }: Response, url: string): Promise<Buffer<ArrayBuffer> | null> {
  if (body === null) return null;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`${url} returned more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
