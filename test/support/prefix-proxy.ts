import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that hands on what is below a path, without that path, and keeps the `Host` that came. */
export interface PrefixProxy {
  /** With the path. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Of a service on a port of the loopback. `prefix`: such as `/unseen`; of what is not below it there is nothing. */
export async function startPrefixProxy(port: number, prefix: string): Promise<PrefixProxy> {
  const server = createServer((asked, answer) => {
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
