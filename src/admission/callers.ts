import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Connection } from '../http/connection.js';

/** Credentials that are remembered at most; those learnt first are forgotten first. */
const MOST_KNOWN = 10_000;

const SCHEME = /^Bearer +/i;

/**
 * Finds the caller that a request is counted for, by its head alone: the principal if its credentials have been accepted
 * before, else the address. This is for counting only; the credentials are checked again every time.
 */
export class Callers {
  private readonly known = new Map<string, string>();

  /** Whether nobody has to say who they are. */
  open = false;

  of({ headers }: IncomingMessage, { address, anonymous }: Connection): string | undefined {
    if (this.open) return anonymous;
    const { authorization } = headers;
    const known = authorization === undefined ? undefined : this.known.get(digest(authorization));
    return known ?? address;
  }

  /** Says whose credentials these are. */
  learn(authorization: string, caller: string): void {
    const key = digest(authorization);
    if (this.known.has(key)) return;
    if (this.known.size >= MOST_KNOWN) {
      const [oldest] = this.known.keys();
      if (oldest !== undefined) this.known.delete(oldest);
    }
    this.known.set(key, caller);
  }

  /** Says that these credentials are taken no longer: whoever has them is counted by the address again. */
  forget(authorization: string): void {
    this.known.delete(digest(authorization));
  }
}

/** So that no credentials are kept. Of the credentials alone: the scheme before them has many spellings. */
function digest(authorization: string): string {
  return hash('sha256', authorization.replace(SCHEME, ''), 'base64');
}
