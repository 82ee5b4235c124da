import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';

/**
 * A program that answers one call as the service does, and does nothing else. `fastify` is Fastify with one bare route,
 * and `http` is only Node's server. Arguments: the framework, the path, and the response headers as JSON. It sends its
 * port to its parent process.
 */
const [framework, path = '/', headersText = '{}'] = process.argv.slice(2);
const headers = JSON.parse(headersText) as Record<string, string>;

interface Body {
  readonly items: readonly string[];
}

const answerTo = ({ items }: Body) => ({ results: items.map(() => true) });

async function listenByFastify(): Promise<Server> {
  const app = fastify();
  app.post<{ Body: Body }>(path, (request, reply) => reply.headers(headers).send(answerTo(request.body)));
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server;
}

async function listenByHttp(): Promise<Server> {
  const server = createServer((request, response) => {
    void readWhole(request).then((text) => {
      const body = JSON.stringify(answerTo(JSON.parse(text) as Body));
      response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(body) });
      response.end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function readWhole(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks).toString()));
    request.on('error', reject);
  });
}

const server = await (framework === 'fastify' ? listenByFastify() : listenByHttp());
process.send?.((server.address() as AddressInfo).port);
process.on('disconnect', () => process.exit(0));
