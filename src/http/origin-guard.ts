import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Config } from '../config/config.js';
import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/**
 * What keeps web pages out where no keys need be shown: every page can make a browser send requests to this machine, some
 * of them (a text/plain POST) without asking first, and a name that resolves to 127.0.0.1 makes them same-origin.
 *
 * Refuses a Host that is not known to be this service, and whatever a browser marks as coming from elsewhere, unless
 * CORS_ORIGINS has it. With AUTH=none others may reach it under its addresses, too, which no page can make up. With
 * AUTH=keys no page has a key that was not given to it: its origin is left to CORS, and Host is checked only if
 * ALLOWED_HOSTS says what it may be.
 */
export class OriginGuard {
  private readonly hosts: ReadonlySet<string> | undefined;
  private readonly anyAddress: boolean;
  private readonly origins: ReadonlySet<string>;
  private readonly anyOrigin: boolean;

  constructor({ auth, allowedHosts, corsOrigins }: Pick<Config, 'auth' | 'allowedHosts' | 'corsOrigins'>) {
    const unknown = auth === 'keys' && allowedHosts.length === 0;
    this.hosts = unknown ? undefined : new Set([...LOOPBACK, ...allowedHosts]);
    this.anyAddress = auth === 'none' && allowedHosts.length === 0;
    this.origins = new Set(corsOrigins);
    this.anyOrigin = auth === 'keys';
  }

  /**
   * Throws VALIDATION_FAILED unless a request of HTTP/1.1 names one Host (RFC 9112, 3.2), since of two a proxy before the
   * service may have read the other one; Node would answer the first case without a problem document, and the second not
   * at all. Throws FORBIDDEN for a Host or an origin that is refused. A probe needs no Host, as in HTTP/1.0, in which load
   * balancers ask; browsers always send one.
   */
  check({ headers, httpVersion, rawHeaders }: IncomingMessage, isProbe = false): void {
    const { host = '', origin, 'sec-fetch-site': site } = headers;
    const hosts = rawHeaders.filter(
      (text, i) => i % 2 === 0 && text.length === 4 && /^host$/i.test(text),
    ).length;
    if (hosts !== 1 && !(hosts === 0 && httpVersion === '1.0')) {
      throw new ProblemError(
        'VALIDATION_FAILED',
        `a request must have exactly one Host header, not ${hosts}`,
      );
    }
    const name = host.replace(/:\d*$/, '').toLowerCase();
    const isOwnHost =
      this.hosts === undefined || this.hosts.has(name) || (this.anyAddress && isAddress(name));
    if (!isOwnHost && (hosts > 0 || !isProbe)) {
      throw new ProblemError(
        'FORBIDDEN',
        `Host ${show(host)} is not a name of this service; the operator can add it to ALLOWED_HOSTS`,
      );
    }
    if (this.anyOrigin || (origin !== undefined && this.origins.has(origin))) return;
    if (origin !== undefined && !isOwn(origin, host)) {
      throw new ProblemError(
        'FORBIDDEN',
        `web pages of origin ${show(origin)} may not call this service; the operator can add it to CORS_ORIGINS`,
      );
    }
    if (site === 'cross-site')
      throw new ProblemError(
        'FORBIDDEN',
        'web pages of another site may not call this service; the operator can add their origin to CORS_ORIGINS',
      );
  }
}

function isAddress(host: string): boolean {
  return isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0;
}

function isOwn(origin: string, host: string): boolean {
  const own = host.toLowerCase();
  return origin.toLowerCase() === `http://${own}` || origin.toLowerCase() === `https://${own}`;
}
