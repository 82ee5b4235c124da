import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Config } from '../config/config.js';
import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Keeps web pages out of a service that requires no keys. Any page can make a browser send requests to this machine.
 * Some of them, such as a text/plain POST, need no preflight request. If the page's name resolves to 127.0.0.1, they
 * are even same-origin.
 *
 * Refuses a Host that isn't a known name for this service. Also refuses requests that a browser marks as cross-origin,
 * unless CORS_ORIGINS lists the origin. With AUTH=none, clients may also use any of the service's addresses as Host,
 * because a page can't forge an address. With AUTH=keys, a page has a key only if someone gave it one. So CORS alone
 * decides about origins, and Host is checked only if ALLOWED_HOSTS is set.
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
   * Throws VALIDATION_FAILED unless the request has exactly one Host header (RFC 9112, 3.2), or none in HTTP/1.0. If it
   * has two, a proxy in front of the service may have used the other one. Node would accept two, and answer a missing
   * Host without a problem document. Throws FORBIDDEN for a refused Host or origin. A probe needs no Host, because load
   * balancers may send HTTP/1.0, and browsers always send one.
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
        `web pages from origin ${show(origin)} may not call this service; the operator can add it to CORS_ORIGINS`,
      );
    }
    if (site === 'cross-site')
      throw new ProblemError(
        'FORBIDDEN',
        'web pages from another site may not call this service; the operator can add their origin to CORS_ORIGINS',
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
