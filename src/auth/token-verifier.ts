import { errors, jwtVerify, type JWTPayload } from 'jose';
import type { Clock } from '#store';
import { ProblemError } from '../errors/problem.js';
import type { OidcSettings } from '../config/auth.js';
import { PREFIX_PATTERN } from '../validation/prefix.js';
import { IssuerKeys } from './issuer-keys.js';
import type { Principal } from '../request/principal.js';
import { SCOPES, type Scope } from '../request/scope.js';
import { Unauthenticated } from './unauthenticated.js';

/** Only public-key signatures: with a shared secret, any service that can verify tokens could also create them. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const CLOCK_TOLERANCE_S = 10;
/** OpenID Connect's limit. */
const LONGEST_SUBJECT = 255;
/** Prefix that distinguishes this service's scopes from other services' scopes. */
const SCOPE_BEGIN = 'unseen:';

/** Checks one issuer's tokens. */
export class TokenVerifier {
  private readonly keys: IssuerKeys;

  constructor(
    private readonly settings: OidcSettings,
    private readonly clock: Clock,
  ) {
    this.keys = new IssuerKeys(settings, clock);
  }

  /** Returns a token's principal. Throws Unauthenticated, and OVERLOADED while the issuer's keys are unavailable. */
  async verify(token: string): Promise<Principal> {
    const { issuer, audience } = this.settings;
    try {
      const { payload } = await jwtVerify(token, (header, jws) => this.keys.find(header, jws), {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        currentDate: new Date(this.clock.now()),
        requiredClaims: ['exp', 'sub'],
      });
      return this.principal(payload);
    } catch (error) {
      throw error instanceof ProblemError ? error : new Unauthenticated(reasonOf(error));
    }
  }

  private principal(claims: JWTPayload): Principal {
    const { scopeClaim, prefixClaim } = this.settings;
    const { [prefixClaim]: prefix } = claims;
    const sub: unknown = claims.sub;
    if (typeof sub !== 'string' || sub === '' || sub.length > LONGEST_SUBJECT) {
      throw new Unauthenticated('token: sub');
    }
    // An absent prefix allows all names, so an invalid prefix must be an error and not count as absent.
    if (prefix !== undefined && (typeof prefix !== 'string' || !PREFIX_PATTERN.test(prefix))) {
      throw new Unauthenticated(`token: ${prefixClaim}`);
    }
    const validUntil = ((claims.exp ?? 0) + CLOCK_TOLERANCE_S) * 1_000;
    const scopes = scopesOf(claims[scopeClaim]);
    return { id: `jwt:${sub}`, name: sub, scopes, prefix: prefix ?? '', credential: { validUntil } };
  }
}

/** Reads this service's scopes from a claim: a text separated by spaces, as in OAuth, or a list. */
function scopesOf(claim: unknown): Scope[] {
  const words: unknown[] = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [];
  return SCOPES.filter((scope) => words.includes(SCOPE_BEGIN + scope));
}

/** The reason in the library's fixed words, without text from the token. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
    return `token: ${error.code} ${error.claim}`;
  }
  return `token: ${error instanceof errors.JOSEError ? error.code : 'cannot be checked'}`;
}
