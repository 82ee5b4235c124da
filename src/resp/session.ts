import { randomInt } from 'node:crypto';
import { SYSTEM_CLOCK } from '#store';
import { AuditLog } from '../auth/audit-log.js';
import type { Authenticator } from '../auth/authenticator.js';
import { Unauthenticated } from '../auth/unauthenticated.js';
import type { Connection } from '../http/connection.js';
import { nextRequestId } from '../request/context.js';
import type { Principal } from '../request/principal.js';
import { RespError } from './error-reply.js';
import { ReplyWriter } from './reply-writer.js';

let sessions = randomInt(2 ** 20);

/** The state of a connection that commands change: its credentials, its protocol, its name. */
export class Session {
  readonly id = ++sessions;
  readonly write = new ReplyWriter();
  /** The name that CLIENT SETNAME has set. */
  name = '';
  /** The connection ends once its replies are sent. */
  ending = false;
  /** MULTI was refused. The client may have sent the commands of the transaction already. */
  inTransaction = false;
  private readonly openedAt = SYSTEM_CLOCK.monotonic();
  private principal: Principal | undefined;
  /** Whether the last command without credentials was let in. */
  private isOpen = false;

  constructor(
    /** The address of the client. */
    readonly remote: string,
    readonly connection: Connection,
    private readonly authenticator: Authenticator,
    private readonly audit: AuditLog,
  ) {}

  get ageSeconds(): number {
    return Math.floor((SYSTEM_CLOCK.monotonic() - this.openedAt) / 1_000);
  }

  /** True if its commands are surely refused for lack of credentials. */
  get isLockedOut(): boolean {
    return this.principal?.credential === undefined && !this.isOpen;
  }

  /** Finds out whether commands need credentials, if they were refused so far. */
  async refresh(): Promise<void> {
    if (!this.isLockedOut) return;
    try {
      await this.authenticator.authenticate([]);
      this.isOpen = true;
    } catch {
      // The error concerns the commands that follow, which report it.
    }
  }

  /** The caller that the resources of the connection are charged to, as for requests. */
  get chargedTo(): string | undefined {
    if (this.principal?.credential) return this.principal.id;
    return this.authenticator.isOpen() ? this.connection.anonymous : this.connection.address;
  }

  /**
   * The principal of a command. Checks the credentials again, because a connection may outlive them. Throws
   * Unauthenticated, and the errors of Authenticator.
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

  /**
   * Sets the credentials of the connection. Throws WRONGPASS, and keeps the earlier credentials, if these are not
   * valid.
   */
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
        const call = { requestId: nextRequestId(), method: 'RESP', route: command, remote: this.remote };
        this.audit.failedAuthentication(call, error.reason);
      }
      throw error;
    }
  }
}
