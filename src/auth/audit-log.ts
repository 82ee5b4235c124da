import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import type { Principal } from '../request/principal.js';
import { show } from '../errors/show.js';
import { contextOf, idsOf, type RequestIds } from '../request/context.js';
import type { Request } from '../request/request.js';
import type { KeyView } from './key.view.js';
import { LineBudget } from '../logging/line-budget.js';
import { LineBudgets } from '../logging/line-budgets.js';
import { RootLogger } from '../logging/logger.js';

type Actor = Pick<Principal, 'id' | 'name'>;

/** A call as the audit log names it. */
export interface AuditedCall {
  readonly ids: RequestIds;
  /** The HTTP method, or `RESP`. */
  readonly method: string;
  /** The route's pattern, or the command. */
  readonly route: string;
  /** The client's address. */
  readonly remote: string;
  /** The name or id that the call is about, if known. */
  readonly target?: unknown;
}

/** The call that a request makes. Its target comes from the path, or from the part of the body that was read. */
export function auditedCall(request: Request): AuditedCall {
  const { auditTarget } = contextOf(request.raw);
  const { name, id } = request.params as { name?: string; id?: string };
  const { name: named } = (request.body ?? {}) as { name?: unknown };
  return {
    ids: idsOf(request),
    method: request.method,
    route: request.routeOptions.url ?? 'unknown',
    remote: request.ip,
    target: name ?? id ?? auditTarget ?? named,
  };
}

/** How many failed authentications to log per minute. An attacker who guesses keys must not fill the disk. */
const FAILURES_A_MINUTE = 60;
/** How many of a principal's refused admin calls to log per minute, so that they don't hide other principals' calls. */
const REFUSED_CALLS_A_MINUTE = 60;

/**
 * Logs who did what. The lines have `audit: true`, and are in the service's log at every LOG_LEVEL except `silent`.
 * They contain ids and names, never secrets.
 */
@Injectable()
export class AuditLog {
  private readonly logger: Logger;
  private readonly failures = new LineBudget(FAILURES_A_MINUTE, 60_000);
  private readonly refusedCalls = new LineBudgets(REFUSED_CALLS_A_MINUTE, 60_000);

  constructor(@Inject(RootLogger) root: Logger) {
    this.logger = root.child({ audit: true }, { level: root.level === 'silent' ? 'silent' : 'info' });
  }

  /**
   * Writes one line for each permitted call to an admin route, whatever the outcome. If
   * `status` is undefined, the client left before the answer was complete.
   */
  adminCall(principal: Principal, call: AuditedCall, status: number | undefined): void {
    this.logger.info({ ...adminCall(principal, call), status }, 'admin call');
  }

  /**
   * Logs a call by a principal without permission. `unreported`: how many of this principal's refused calls since its
   * last line were not logged.
   */
  refusedAdminCall(principal: Principal, audited: AuditedCall, status: number | undefined): void {
    const unreported = this.refusedCalls.take(principal.id);
    if (unreported === undefined) return;
    const call = { ...adminCall(principal, audited), status, ...(unreported > 0 && { unreported }) };
    this.logger.info(call, 'admin call');
  }

  /** Logs missing or rejected credentials. `reason` is for operators, and the caller doesn't see it. */
  failedAuthentication(call: AuditedCall, reason: string): void {
    const unreported = this.failures.take();
    if (unreported === undefined) return;
    const line = { ...called(call), remote: call.remote, reason };
    this.logger.warn(
      { ...line, status: 401, ...(unreported > 0 && { unreported }) },
      'failed authentication',
    );
  }

  keyMade(by: Actor, key: KeyView): void {
    this.logger.info({ ...calledBy(by), key }, 'key created');
  }

  /** Logs the old key with its new expiry, and the id of the key that replaces it. */
  keyRotated(by: Actor, key: KeyView, successor: string): void {
    this.logger.info({ ...calledBy(by), key, successor }, 'key rotated');
  }

  keyRevoked(by: Actor, id: string): void {
    this.logger.info({ ...calledBy(by), key: { id } }, 'key revoked');
  }
}

function calledBy({ id, name }: Actor): object {
  return { principal: { id, name } };
}

function adminCall(principal: Principal, call: AuditedCall): object {
  const { target } = call;
  const shown = typeof target === 'string' ? show(target).slice(1, -1) : undefined;
  return { ...calledBy(principal), ...called(call), target: shown };
}

function called({ ids, method, route }: AuditedCall): object {
  return { ...ids, method, route };
}
