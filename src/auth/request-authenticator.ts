import { Injectable } from '@nestjs/common';
import { contextOf } from '../request/context.js';
import type { Principal } from '../request/principal.js';
import type { Request } from '../request/request.js';
import { AuditLog, auditedCall } from './audit-log.js';
import { Authenticator } from './authenticator.js';
import { Unauthenticated } from './unauthenticated.js';

/** Identifies a request's principal. Audits failures. */
@Injectable()
export class RequestAuthenticator {
  private onRejected: ((authorization: string) => void) | undefined;

  constructor(
    private readonly authenticator: Authenticator,
    private readonly audit: AuditLog,
  ) {}

  /** Calls `onRejected` with credentials that aren't accepted, or no longer are. */
  whenRejected(onRejected: (authorization: string) => void): void {
    this.onRejected = onRejected;
  }

  /** Returns a request's principal. Throws Unauthenticated, and the same errors as Authenticator. */
  identify(request: Request): Promise<Principal> {
    const authorizations = request.raw.headersDistinct['authorization'] ?? [];
    // Monitoring must work while the store is unavailable.
    const staleIfAway = request.routeOptions.config.probe === true;
    return this.orAudit(request, this.authenticator.authenticate(authorizations, staleIfAway));
  }

  /** Checks a long request's credentials again. Throws Unauthenticated if they are no longer accepted. */
  async confirm(request: Request): Promise<void> {
    const { principal } = contextOf(request.raw);
    if (principal) await this.orAudit(request, this.authenticator.confirm(principal));
  }

  private async orAudit<T>(request: Request, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof Unauthenticated) {
        this.audit.failedAuthentication(auditedCall(request), error.reason);
        const { authorization } = request.headers;
        if (authorization !== undefined) this.onRejected?.(authorization);
      }
      throw error;
    }
  }
}
