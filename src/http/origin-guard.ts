import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import type { Config } from '../config/config.js';
import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/**
 * What keeps web pages out where no keys need be shown: any page can make a browser send requests to this machine, some
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
   * Throws FORBIDDEN. A probe needs no Host, which HTTP/1.0 does not: load balancers ask in it, and browsers always send
   * one.
   */
  check(headers: IncomingHttpHeaders, isProbe = false): void {
    const { host = '', origin, 'sec-fetch-site': site } = headers;
    const isNamed = headers.host !== undefined || !isProbe;
    if (isNamed && !this.isOwnHost(hostName(host))) {
      throw new ProblemError(
        'FORBIDDEN',
        `Host ${show(host)} is not one of this service's names (ALLOWED_HOSTS)`,
      );
    }
    if (this.anyOrigin || (origin !== undefined && this.origins.has(origin))) return;
    if (origin !== undefined && !isOwn(origin, host)) {
      throw new ProblemError(
        'FORBIDDEN',
        `requests of web pages of another origin are refused: ${show(origin)}`,
      );
    }
    if (site === 'cross-site')
      throw new ProblemError('FORBIDDEN', 'requests of web pages of another site are refused');
  }

  private isOwnHost(name: string): boolean {
    if (this.hosts === undefined || this.hosts.has(name)) return true;
    return this.anyAddress && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  }
}

/** Without the port, in lower case. */
function hostName(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}

function isOwn(origin: string, host: string): boolean {
  const own = host.toLowerCase();
  return origin.toLowerCase() === `http://${own}` || origin.toLowerCase() === `https://${own}`;
}
