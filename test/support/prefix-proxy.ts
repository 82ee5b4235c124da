import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that strips a path prefix and keeps the `Host` header. */
export interface PrefixProxy {
  /** Includes the prefix. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a proxy for a service on a loopback port. `prefix` is a path such as `/unseen`. Other paths give 404. */
export async function startPrefixProxy(port: number, prefix: string): Promise<PrefixProxy> {
  const server = createServer({ keepAliveTimeout: 0 }, (asked, answer) => {
    const { method, url = '/', headers } = asked;
    if (!url.startsWith(`${prefix}/`)) {
      answer.writeHead(404).end();
      return;
    }
    const path = url.slice(prefix.length);
    const onward = request({ host: '127.0.0.1', port, method, path, headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.rawHeaders);
      answered.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    asked.pipe(onward);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
