import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The response for a path: a body or a status. */
export interface Page {
  readonly body?: string | Buffer;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A site with sitemaps and lists that tests change while it serves. A path without a page gives 404. */
export class PagesServer {
  private readonly pages = new Map<string, Page>();
  /** Each request's Authorization header, by path. */
  readonly authorizations = new Map<string, string | undefined>();
  private readonly server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const path = request.url ?? '';
    this.authorizations.set(path, request.headers.authorization);
    const { body, status = body === undefined ? 404 : 200, headers } = this.pages.get(path) ?? {};
    response.writeHead(status, headers).end(body);
  });

  static async start(): Promise<PagesServer> {
    const site = new PagesServer();
    site.server.listen(0, '127.0.0.1');
    await once(site.server, 'listening');
    return site;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  set(path: string, page: string | Buffer | Page): void {
    this.pages.set(path, typeof page === 'string' || Buffer.isBuffer(page) ? { body: page } : page);
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }
}
