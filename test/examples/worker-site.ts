import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A request that came, in the order in which they came. */
export interface Fetch {
  /** With its query. */
  readonly path: string;
  /** The user agent, without its version. */
  readonly agent: string;
  /** Which one of this path it is, from 1. */
  readonly nth: number;
}

/** How a request is answered. `cut`: the connection ends without an answer. `never`: it stays open without one. */
export type Reply =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | 'cut'
  | 'never';

/** Long enough that requests which may overlap do so. */
const ANSWER_MS = 5;

/** A page with links. */
export function page(links: readonly string[]): Reply {
  const anchors = links.map((link) => `<a href="${link.replaceAll('&', '&amp;')}">x</a>`).join('\n');
  return {
    headers: { 'content-type': 'text/html; charset=utf-8' },
    body: `<!doctype html><title>x</title>${anchors}`,
  };
}

/** A site on loopback, which is a host of its own by its port, and keeps a record of who asked for what. */
export class Site {
  readonly fetches: Fetch[] = [];
  /** How many requests have been under way at once at most. */
  mostAtOnce = 0;
  private atOnce = 0;

  private constructor(private readonly server: Server) {}

  /** `answer` may take its time. Without a robots.txt of its own, a site answers 404 for it. */
  static async start(answer: (fetch: Fetch, site: Site) => Reply | Promise<Reply>): Promise<Site> {
    const server = createServer();
    const site = new Site(server);
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
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Who asked for each page, by its path, in order. */
  pages(): ReadonlyMap<string, readonly string[]> {
    const agents = new Map<string, string[]>();
    for (const { path, agent } of this.fetches) {
      if (path === '/robots.txt') continue;
      agents.set(path, [...(agents.get(path) ?? []), agent]);
    }
    return agents;
  }

  /** The paths of the pages that were asked for, as often as they were. */
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
    // Before the answer leaves, so that who has it and asks for the next page is not counted twice.
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
    // Sites say something also where there is no page, and how long it is.
    const { status = 200, headers, body = 'no page' } = reply;
    response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);
  }
}

/** Something that tests wait for, and let happen. */
export class Gate {
  /** How many wait in front of it. */
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
