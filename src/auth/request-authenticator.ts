import { Injectable } from '@nestjs/common';
import { contextOf } from '../request/context.js';
import type { Principal } from '../request/principal.js';
import type { Request } from '../request/request.js';
import { AuditLog } from './audit-log.js';
import { Authenticator } from './authenticator.js';
import { Unauthenticated } from './unauthenticated.js';

/** Finds out who sent a request. Failures are audited. */
@Injectable()
export class RequestAuthenticator {
  private onRejected: ((authorization: string) => void) | undefined;

  constructor(
    private readonly authenticator: Authenticator,
    private readonly audit: AuditLog,
  ) {}

  /** Has `onRejected` told of credentials that are not accepted, or no longer. */
  whenRejected(onRejected: (authorization: string) => void): void {
    this.onRejected = onRejected;
  }

  /** The principal of a request. Throws Unauthenticated, and what Authenticator throws. */
  identify(request: Request): Promise<Principal> {
    const authorizations = request.raw.headersDistinct['authorization'] ?? [];
    return this.orAudit(request, this.authenticator.authenticate(authorizations));
  }

  /** Throws Unauthenticated once a request's credentials are no longer accepted: for requests that go on for long. */
  async confirm(request: Request): Promise<void> {
    const { principal } = contextOf(request.raw);
    if (principal) await this.orAudit(request, this.authenticator.confirm(principal));
  }

  private async orAudit<T>(request: Request, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof Unauthenticated) {
        this.audit.failedAuthentication(request, error.reason);
        const { authorization } = request.headers;
        if (authorization !== undefined) this.onRejected?.(authorization);
      }
      throw error;
    }
  }
}
