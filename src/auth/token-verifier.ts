import { errors, jwtVerify, type JWTPayload } from 'jose';
import type { Clock } from '#store';
import { ProblemError } from '../errors/problem.js';
import type { OidcSettings } from '../config/auth.js';
import { PREFIX_PATTERN } from '../validation/prefix.js';
import { IssuerKeys } from './issuer-keys.js';
import type { Principal } from '../request/principal.js';
import { SCOPES, type Scope } from '../request/scope.js';
import { Unauthenticated } from './unauthenticated.js';

/** Public-key signatures only: with a shared secret, whoever can check a token could make one. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const CLOCK_TOLERANCE_S = 10;
/** As OpenID Connect bounds it. */
const LONGEST_SUBJECT = 255;
/** What scopes of this service are called among those of others. */
const SCOPE_BEGIN = 'unseen:';

/** Checks the tokens of one issuer. */
export class TokenVerifier {
  private readonly keys: IssuerKeys;

  constructor(
    private readonly settings: OidcSettings,
    private readonly clock: Clock,
  ) {
    this.keys = new IssuerKeys(settings, clock);
  }

  /** Whom a token was made for. Throws Unauthenticated; OVERLOADED while the issuer's keys cannot be fetched. */
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
    // Absent: all names. Anything else that is no prefix must not be taken for that.
    if (prefix !== undefined && (typeof prefix !== 'string' || !PREFIX_PATTERN.test(prefix))) {
      throw new Unauthenticated(`token: ${prefixClaim}`);
    }
    const validUntil = ((claims.exp ?? 0) + CLOCK_TOLERANCE_S) * 1_000;
    const scopes = scopesOf(claims[scopeClaim]);
    return { id: `jwt:${sub}`, name: sub, scopes, prefix: prefix ?? '', credential: { validUntil } };
  }
}

/** Of a claim that is a text with spaces, as OAuth has it, or a list; scopes of others are left out. */
function scopesOf(claim: unknown): Scope[] {
  const words: unknown[] = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [];
  return SCOPES.filter((scope) => words.includes(SCOPE_BEGIN + scope));
}

/** In words of the library's own: nothing that came with the token. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
    return `token: ${error.code} ${error.claim}`;
  }
  return `token: ${error instanceof errors.JOSEError ? error.code : 'cannot be checked'}`;
}
