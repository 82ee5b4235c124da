import { randomInt } from 'node:crypto';
import { SYSTEM_CLOCK } from '#store';
import { AuditLog } from '../auth/audit-log.js';
import type { Authenticator } from '../auth/authenticator.js';
import { Unauthenticated } from '../auth/unauthenticated.js';
import type { Connection } from '../http/connection.js';
import { nextRequestId, type RequestIds } from '../request/context.js';
import type { Principal } from '../request/principal.js';
import type { Trace } from '../tracing/trace.js';
import type { WaitingClient } from '../visited-sets/waiting-leases.js';
import { RespError } from './error-reply.js';
import { ReplyWriter } from './reply-writer.js';

let sessions = randomInt(2 ** 20);

/** Connection state that commands change: credentials, protocol, name. */
export class Session {
  readonly id = ++sessions;
  readonly write = new ReplyWriter();
  /** The name that CLIENT SETNAME gave. */
  name = '';
  /** End the connection once its replies are sent. */
  ending = false;
  /** True after a refused MULTI. The client may already have sent the transaction's commands. */
  inTransaction = false;
  /** Set by the connection. See WaitingClient. */
  watch: WaitingClient['watch'] = () => () => undefined;
  /** The trace of the commands that run now. */
  trace: Trace | undefined;
  private readonly openedAt = SYSTEM_CLOCK.monotonic();
  private principal: Principal | undefined;
  /** True if the last command without credentials was accepted. */
  private isOpen = false;

  constructor(
    /** The client's address. */
    readonly remote: string,
    readonly connection: Connection,
    private readonly authenticator: Authenticator,
    private readonly audit: AuditLog,
  ) {}

  get ageSeconds(): number {
    return Math.floor((SYSTEM_CLOCK.monotonic() - this.openedAt) / 1_000);
  }

  /** New ids for a log line about the commands that run now. */
  newIds(): RequestIds {
    const { trace } = this;
    return { requestId: nextRequestId(), ...(trace && { traceId: trace.traceId }) };
  }

  /** True if commands need credentials that the connection lacks, as far as it knows. */
  get isLockedOut(): boolean {
    return this.principal?.credential === undefined && !this.isOpen;
  }

  /** Checks whether commands of a connection that is locked out still need credentials. */
  async refresh(): Promise<void> {
    try {
      await this.authenticator.authenticate([]);
      this.isOpen = true;
    } catch {
      // The next command reports the error.
    }
  }

  /** The caller charged for the connection's resources, as for requests. */
  get chargedTo(): string | undefined {
    if (this.principal?.credential) return this.principal.id;
    return this.authenticator.isOpen() ? this.connection.anonymous : this.connection.address;
  }

  /**
   * A command's principal. Checks the credentials again, because a connection may outlive them. Throws Unauthenticated,
   * and the same errors as Authenticator.
   */
  async caller(command: string): Promise<Principal> {
    const { principal } = this;
    try {
      if (principal?.credential === undefined) {
        const anonymous = await this.orAudit(command, this.authenticator.authenticate([]));
        this.isOpen = true;
        return anonymous;
      }
      await this.orAudit(command, this.authenticator.confirm(principal));
      return principal;
    } catch (error) {
      if (error instanceof Unauthenticated) {
        this.principal = undefined;
        this.isOpen = false;
      }
      throw error;
    }
  }

  /** Sets the connection's credentials. If they are invalid, keeps the earlier ones and throws WRONGPASS. */
  async authenticate(credentials: string, command: string): Promise<void> {
    try {
      const answer = this.authenticator.authenticate([`Bearer ${credentials}`]);
      this.principal = await this.orAudit(command, answer);
    } catch (error) {
      if (!(error instanceof Unauthenticated)) throw error;
      throw new RespError(
        'WRONGPASS',
        'the key is not valid; send a valid API key or token',
        'UNAUTHENTICATED',
      );
    }
  }

  /** Returns to the state of a new connection. */
  reset(): void {
    this.principal = undefined;
    this.name = '';
    this.inTransaction = false;
    this.write.protocol = 2;
  }

  private async orAudit<T>(command: string, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof Unauthenticated) {
        const call = { ids: this.newIds(), method: 'RESP', route: command, remote: this.remote };
        this.audit.failedAuthentication(call, error.reason);
      }
      throw error;
    }
  }
}
