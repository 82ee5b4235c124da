import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A request, in order of arrival. */
export interface Fetch {
  /** Includes the query. */
  readonly path: string;
  /** The user agent without its version. */
  readonly agent: string;
  /** This request's number among those to its path, from 1. */
  readonly nth: number;
}

/** The answer to a request. `cut` closes the connection without an answer. `never` keeps it open without one. */
export type Reply =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | 'cut'
  | 'never';

/** Long enough that parallel requests overlap. */
const ANSWER_MS = 5;

export function page(links: readonly string[]): Reply {
  const anchors = links.map((link) => `<a href="${link.replaceAll('&', '&amp;')}">x</a>`).join('\n');
  return {
    headers: { 'content-type': 'text/html; charset=utf-8' },
    body: `<!doctype html><title>x</title>${anchors}`,
  };
}

/**
 * A name for a site on loopback. Sites with different names are different hosts, and sites with the same name are one.
 */
export type SiteName = '127.0.0.1' | 'localhost';

/** A site on loopback that records its requests. */
export class Site {
  readonly fetches: Fetch[] = [];
  /** The largest number of parallel requests. */
  mostAtOnce = 0;
  private atOnce = 0;

  private constructor(
    private readonly server: Server,
    private readonly name: SiteName,
  ) {}

  /** `answer` may be slow. Without its own robots.txt, the site answers 404 for it. */
  static async start(
    answer: (fetch: Fetch, site: Site) => Reply | Promise<Reply>,
    name: SiteName,
  ): Promise<Site> {
    const server = createServer();
    const site = new Site(server, name);
    server.on('request', ({ url = '', headers }, response) => {
      const [agent = ''] = (headers['user-agent'] ?? '').split('/');
      const nth = site.fetches.filter(({ path }) => path === url).length + 1;
      const fetch = { path: url, agent, nth };
      site.fetches.push(fetch);
      void site.serve(response, async () => answer(fetch, site));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return site;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  get host(): string {
    return `${this.name}:${(this.server.address() as AddressInfo).port}`;
  }

  /** The user agents that requested each page, by path, in order. */
  pages(): ReadonlyMap<string, readonly string[]> {
    const agents = new Map<string, string[]>();
    for (const { path, agent } of this.fetches) {
      if (path === '/robots.txt') continue;
      agents.set(path, [...(agents.get(path) ?? []), agent]);
    }
    return agents;
  }

  /** The paths of all requested pages, with repeats. */
  asked(): string[] {
    return this.fetches.map(({ path }) => path).filter((path) => path !== '/robots.txt');
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async serve(response: ServerResponse, answer: () => Promise<Reply>): Promise<void> {
    this.atOnce++;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    let isOver = false;
    // Count down before sending the answer. Otherwise, a client that then asks for the next page would count twice.
    const end = (): void => {
      if (!isOver) this.atOnce--;
      isOver = true;
    };
    response.on('close', end);
    const reply = await answer();
    if (reply === 'never') return;
    await sleep(ANSWER_MS);
    end();
    if (reply === 'cut') return void response.destroy();
    // Real sites also send a body with a length for missing pages.
    const { status = 200, headers, body = 'no page' } = reply;
    response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);
  }
}

/** A gate where tests hold answers and release them. */
export class Gate {
  /** How many calls wait at the gate. */
  waiting = 0;
  private open: () => void = () => undefined;
  private readonly opened = new Promise<void>((resolve) => (this.open = resolve));

  async pass(): Promise<void> {
    this.waiting++;
    await this.opened;
    this.waiting--;
  }

  release(): void {
    this.open();
  }
}
