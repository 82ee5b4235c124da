import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A page's answer. */
export interface Page {
  readonly links?: readonly string[];
  /** A text body in place of HTML. */
  readonly text?: string;
  /** Redirects to this path. */
  readonly to?: string;
  readonly status?: number;
  /** The answer waits for this. */
  readonly until?: () => Promise<unknown>;
}

/** A site on loopback that counts how often each page is fetched. */
export interface Site {
  readonly url: string;
  /** Number of fetches by path. */
  readonly fetched: Map<string, number>;
  /** How many fetches there were in all. */
  total(): number;
  /** Resets the counts. */
  reset(): void;
  stop(): Promise<void>;
}

/** Serves pages by path. `host`: the host to which redirects lead, if it isn't this site's. */
export async function startSite(pages: Readonly<Record<string, Page>>, host?: string): Promise<Site> {
  const fetched = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    fetched.set(path, (fetched.get(path) ?? 0) + 1);
    const { links = [], text, to, status = 200, until } = pages[path] ?? { status: 404 };
    void Promise.resolve(until?.()).then(() => {
      response.writeHead(to === undefined ? status : 302, {
        'content-type': text === undefined ? 'text/html' : 'text/plain',
        ...(to !== undefined && {
          location: host === undefined ? to : `http://${host}:${portOf(server)}${to}`,
        }),
      });
      response.end(text ?? `<html>${links.map((link) => `<a href="${link}">${link}</a>`).join('')}</html>`);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    fetched,
    total: () => [...fetched.values()].reduce((sum, times) => sum + times, 0),
    reset: () => fetched.clear(),
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
