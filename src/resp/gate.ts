import { Inject, Injectable } from '@nestjs/common';
import { InFlight } from '../admission/in-flight.js';
import { RateLimit } from '../admission/rate-limit.js';
import { RequestPermit } from '../admission/request-permit.js';
import { overloaded } from '../admission/refusal.js';
import { Turns } from '../admission/turns.js';
import { AuditLog } from '../auth/audit-log.js';
import { authoriseScope } from '../auth/authorise.js';
import { ProblemError } from '../errors/problem.js';
import { Lifecycle } from '../http/lifecycle.js';
import { toProblem } from '../http/to-problem.js';
import { callerOf } from '../request/caller.js';
import type { Principal } from '../request/principal.js';
import type { Scope } from '../request/scope.js';
import type { Session } from './session.js';

/** Commands on data that ask for permission to run: a single command, or the calls of a run. */
export interface Entry {
  readonly session: Session;
  readonly commandName: string;
  readonly access: Scope;
  readonly commands: number;
  /** The names that the audit log shows. */
  readonly targets: readonly string[];
}

/** Work for an entry's first `commands` commands. */
type Work<T> = (caller: Principal, commands: number, permit: RequestPermit) => Promise<T>;

/** The result of an entry's work, and the error for commands that exceed the rate limit. */
export interface Passed<T> {
  readonly result: T | undefined;
  readonly within: number;
  readonly refusal?: ProblemError;
}

/** Checks commands as the HTTP hooks check requests, with the same parts and in the same order. */
@Injectable()
export class Gate {
  constructor(
    private readonly inFlight: InFlight,
    private readonly turns: Turns,
    @Inject(RateLimit) private readonly rateLimit: RateLimit | null,
    private readonly audit: AuditLog,
    private readonly lifecycle: Lifecycle,
  ) {}

  /** Resolves in this caller's turn. Each command, even one that is refused, costs at least one call. */
  turn({ chargedTo }: Session, bytes: number): Promise<void> {
    return new Promise((resolve) => this.turns.begin(chargedTo, bytes, resolve));
  }

  /** Runs `work`. Throws UNAUTHENTICATED, FORBIDDEN, OVERLOADED, and errors from `work`. */
  async pass<T>(entry: Entry, work: Work<T>): Promise<Passed<T>> {
    const { session, access, commandName } = entry;
    const caller = await session.caller(commandName);
    if (access !== 'admin') return this.admit(entry, caller, work);
    let status = 200;
    let allowed = false;
    try {
      authoriseScope(caller, access, commandName);
      allowed = true;
      return await this.admit(entry, caller, work);
    } catch (error) {
      status = toProblem(error).httpStatus;
      throw error;
    } finally {
      this.auditCall(entry, caller, allowed, status);
    }
  }

  private async admit<T>(entry: Entry, caller: Principal, work: Work<T>): Promise<Passed<T>> {
    const { session, commandName, access, commands } = entry;
    authoriseScope(caller, access, commandName);
    if (this.lifecycle.shuttingDown) {
      throw new ProblemError('OVERLOADED', 'the service is shutting down; retry');
    }
    const { chargedTo, connection } = session;
    const permit = this.inFlight.admit({ kind: 'requests', bytes: 0, caller: chargedTo, connection });
    if (!(permit instanceof RequestPermit)) throw overloaded(permit, this.inFlight.bounds);
    try {
      const counted = await this.rateLimit?.countAll(callerOf(caller, session.remote), commands);
      const { within = commands, ...refused } = counted ?? {};
      if (within === 0) return { result: undefined, within, ...refused };
      return { result: await work(caller, within, permit), within, ...refused };
    } finally {
      permit.over();
    }
  }

  private auditCall(
    { session, commandName, targets }: Entry,
    caller: Principal,
    allowed: boolean,
    status: number,
  ) {
    const call = { ids: session.newIds(), method: 'RESP', route: commandName, remote: session.remote };
    for (const target of targets) {
      if (allowed) this.audit.adminCall(caller, { ...call, target }, status);
      else this.audit.refusedAdminCall(caller, { ...call, target }, status);
    }
  }
}
