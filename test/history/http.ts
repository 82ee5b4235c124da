import { Agent, request, type IncomingMessage } from 'node:http';
import type { Random } from '../support/random.js';

/** A request's outcome. `refused` means that it was never sent, so it had no effect. `broken` means unknown. */
export type Reply =
  | { readonly kind: 'answered'; readonly status: number; readonly headers: Headers; readonly text: string }
  | { readonly kind: 'refused' | 'broken'; readonly note: string };

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Header names are in lower case. */
export type Headers = IncomingMessage['headers'];

/** Longer than the service waits for its store. */
const TIMEOUT_MS = 5_000;

/** Sends requests over keep-alive connections, which a fault may cut. Never retries a request. */
export class Http {
  private readonly agent = new Agent({ keepAlive: true });

  post(url: string, body: unknown, key?: string): Promise<Reply> {
    return this.send('POST', url, body, key);
  }

  get(url: string): Promise<Reply> {
    return this.send('GET', url);
  }

  /** Cuts about half of the connections, with all data in transit. */
  cut(random: Random): void {
    for (const sockets of Object.values(this.agent.sockets)) {
      for (const socket of sockets ?? []) if (random.below(2) === 0) socket.destroy();
    }
  }

  close(): void {
    this.agent.destroy();
  }

  /** Sends a string as lines, and anything else as JSON. */
  send(method: Method, url: string, body?: unknown, key?: string): Promise<Reply> {
    const lines = typeof body === 'string';
    const text = lines || body === undefined ? body : JSON.stringify(body);
    const type = lines ? 'text/plain' : 'application/json';
    return new Promise((resolve) => {
      const outgoing = request(url, { method, agent: this.agent, headers: headersOf(type, text, key) });
      const timer = setTimeout(() => outgoing.destroy(new Error('no answer in time')), TIMEOUT_MS);
      const settle = (reply: Reply): void => {
        clearTimeout(timer);
        resolve(reply);
      };
      const fail = (error: Error): void => {
        const refused = 'code' in error && error.code === 'ECONNREFUSED';
        settle({ kind: refused ? 'refused' : 'broken', note: error.message });
      };
      outgoing.on('error', fail);
      outgoing.on('response', (incoming) => {
        let answer = '';
        incoming.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
        incoming.on('error', fail);
        incoming.on('end', () => {
          const { statusCode: status = 0, headers } = incoming;
          settle({ kind: 'answered', status, headers, text: answer });
        });
      });
      outgoing.end(text);
    });
  }
}

function headersOf(
  type: string,
  body: string | undefined,
  key: string | undefined,
): Record<string, string | number> {
  return {
    ...(body !== undefined && {
      'content-type': type,
      'content-length': Buffer.byteLength(body),
    }),
    ...(key !== undefined && { 'idempotency-key': key }),
  };
}
