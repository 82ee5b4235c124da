import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Connection } from '../http/connection.js';

/** How many credentials it remembers. It forgets the oldest first. */
const MOST_KNOWN = 10_000;

const SCHEME = /^Bearer +/i;

/**
 * Finds the caller to charge for a request, from its head alone: the principal if its credentials were accepted before,
 * otherwise the address. This is only for counting. Authentication still checks each request's credentials.
 */
export class Callers {
  private readonly known = new Map<string, string>();

  /** True if the service requires no credentials. */
  open = false;

  of({ headers }: IncomingMessage, { address, anonymous }: Connection): string | undefined {
    if (this.open) return anonymous;
    const { authorization } = headers;
    const known = authorization === undefined ? undefined : this.known.get(digest(authorization));
    return known ?? address;
  }

  /** Remembers that these credentials belong to `caller`. */
  learn(authorization: string, caller: string): void {
    const key = digest(authorization);
    if (this.known.has(key)) return;
    if (this.known.size >= MOST_KNOWN) {
      const [oldest] = this.known.keys();
      if (oldest !== undefined) this.known.delete(oldest);
    }
    this.known.set(key, caller);
  }

  /** Forgets credentials that are no longer accepted. Requests that use them are charged to their address again. */
  forget(authorization: string): void {
    this.known.delete(digest(authorization));
  }
}

/** A digest, so that no credentials stay in memory. Leaves out the scheme, because it has several spellings. */
function digest(authorization: string): string {
  return hash('sha256', authorization.replace(SCHEME, ''), 'base64');
}
