import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Holding {
  readonly method: string;
  /** How the request's path ends. */
  readonly path?: string;
  /** `request`, the default, doesn't forward the request. `answer` forwards it and withholds the response. */
  readonly hold?: 'request' | 'answer';
}

/** An HTTP proxy on loopback that can withhold a request or a response. */
export class Front {
  private held: (Holding & { readonly came: () => void }) | undefined;
  private readonly server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const held = this.takeHeld(request);
    if (held !== undefined && held.hold !== 'answer') {
      held.came();
      return;
    }
    const { method, headers } = request;
    const forward = send(`${this.target}${request.url ?? ''}`, { method, headers }, (answer) => {
      if (held !== undefined) {
        answer.resume().once('end', held.came);
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forward.on('error', () => response.destroy());
    request.pipe(forward);
  });

  private constructor(private readonly target: string) {}

  static async start(target: string): Promise<Front> {
    const front = new Front(target);
    front.server.listen(0, '127.0.0.1');
    await once(front.server, 'listening');
    return front;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Never answers the next matching request. Resolves when the request, or its response, has arrived. */
  holdNext(holding: Holding): Promise<void> {
    return new Promise((came) => (this.held = { ...holding, came }));
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private takeHeld({ method, url = '' }: IncomingMessage) {
    const { held } = this;
    if (held === undefined || held.method !== method || !url.endsWith(held.path ?? '')) return undefined;
    this.held = undefined;
    return held;
  }
}
