import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Request } from './judge.js';

/** Long enough that parallel requests overlap. */
const ANSWER_MS = 5;

/**
 * A site with many hosts, and its access log. Each host has the same number of pages, all reachable from its `/0`. The
 * hosts are loopback addresses, 127.1.0.1 and so on, because programs in three languages reach these without a
 * resolver. Linux has all loopback addresses.
 */
export class ManyHosts {
  readonly log: Request[] = [];
  private readonly hosts: string[] = [];
  private readonly agents = new Set<string>();
  private served = 0;
  private changed: (() => void)[] = [];

  private constructor(
    private readonly servers: readonly Server[],
    private readonly pagesOfHost: number,
    private readonly awaited: readonly string[],
  ) {}

  /**
   * The site answers no page until, for each name in `awaited`, an agent whose name begins with it has requested a
   * page.
   */
  static async start(hosts: number, pagesOfHost: number, awaited: readonly string[]): Promise<ManyHosts> {
    const servers = Array.from({ length: hosts }, () => createServer());
    const site = new ManyHosts(servers, pagesOfHost, awaited);
    for (const [n, server] of servers.entries()) {
      server.listen(0, `127.1.0.${n + 1}`);
      await once(server, 'listening');
      const { address, port } = server.address() as AddressInfo;
      site.hosts.push(`${address}:${port}`);
      server.on('request', (request, response) => void site.serve(n, request, response));
    }
    return site;
  }

  /** The URLs from which a crawl finds all others. */
  starts(): string[] {
    return this.hosts.map((host) => `http://${host}/0`);
  }

  /** All pages, as the host and the path. */
  pages(): string[] {
    return this.hosts.flatMap((host) => Array.from({ length: this.pagesOfHost }, (_, n) => `${host}/${n}`));
  }

  /** Resolves when it has served this number of pages. */
  async untilServed(pages: number): Promise<void> {
    while (this.served < pages) await this.untilChanged();
  }

  async stop(): Promise<void> {
    for (const server of this.servers) {
      server.close();
      server.closeAllConnections();
    }
  }

  private async serve(n: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const beganMs = Date.now();
    const { url: path = '', headers } = request;
    const isPage = path !== '/robots.txt';
    const [agent = ''] = (headers['user-agent'] ?? '').split('/');
    if (isPage) await this.untilAllCame(agent);
    await sleep(ANSWER_MS);
    const body = isPage ? this.links(n, Number(path.slice(1))) : '';
    this.log.push({ host: this.hosts[n] ?? '', path, agent, beganMs, endedMs: Date.now() });
    // If the site kept connections open, a worker could reuse one that is just closing, and would then repeat its
    // request.
    const answer = { 'content-type': 'text/html', connection: 'close' };
    response.writeHead(isPage ? 200 : 404, answer).end(body);
    if (isPage) this.served++;
    this.tell();
  }

  private async untilAllCame(agent: string): Promise<void> {
    this.agents.add(agent);
    this.tell();
    const hasCome = (name: string): boolean => [...this.agents].some((one) => one.startsWith(name));
    while (!this.awaited.every(hasCome)) await this.untilChanged();
  }

  /** The two child pages, and pages on other hosts. */
  private links(n: number, page: number): string {
    const other = this.hosts[(n + 7) % this.hosts.length];
    const own = [2 * page + 1, 2 * page + 2, 0].filter((child) => child < this.pagesOfHost);
    const links = [...own.map((child) => `/${child}`), `http://${other}/${page}`];
    return links.map((link) => `<a href="${link}">x</a>`).join('\n');
  }

  private untilChanged(): Promise<void> {
    return new Promise((resolve) => this.changed.push(resolve));
  }

  private tell(): void {
    for (const resolve of this.changed.splice(0)) resolve();
  }
}
