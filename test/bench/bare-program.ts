import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fastify } from 'fastify';
import { open } from 'lmdb';

/**
 * A program that answers one call as the service does, and does nothing else. `fastify` is Fastify with one bare route,
 * and `http` is only Node's server. With a folder, `http` first stores WRITTEN_BYTES in LMDB, and waits for the disk.
 * Arguments: the framework, the path, the response headers as JSON, and the folder, if any. It sends its port to its
 * parent process.
 */
const [framework, path = '/', headersText = '{}', folder] = process.argv.slice(2);
const headers = JSON.parse(headersText) as Record<string, string>;

/** About as much as the embedded store writes for a batch of a thousand items. */
const WRITTEN_BYTES = 16 * 1024;
/** Overwrites the value of this many writes before. */
const KEPT_WRITES = 1_000;

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
  const write = folder === undefined ? () => Promise.resolve() : writesTo(folder);
  const server = createServer((request, response) => {
    void readWhole(request).then(async (text) => {
      await write();
      const body = JSON.stringify(answerTo(JSON.parse(text) as Body));
      response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(body) });
      response.end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function writesTo(directory: string): () => Promise<void> {
  const root = open({
    path: join(directory, 'data.mdb'),
    noSubdir: true,
    eventTurnBatching: false,
    separateFlushed: true,
  });
  const rows = root.openDB<Buffer, number>({ name: 'rows', encoding: 'binary' });
  const value = Buffer.alloc(WRITTEN_BYTES, 'a body');
  let writes = 0;
  return async () => {
    const key = writes++ % KEPT_WRITES;
    await root.transaction(() => rows.putSync(key, value));
    await root.flushed;
  };
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
