import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { until } from './until.js';

/** A response as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Status line and headers, in lower case. */
  readonly head: string;
  readonly body: string;
}

/** A TCP connection to the service. The test decides which bytes to send, and when. */
export class RawClient {
  private received = '';

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => (this.received += text));
    socket.on('error', () => undefined);
  }

  /** With `reads` false it never reads from the socket. */
  static async connect(port: number, reads = true): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1');
    const client = new RawClient(socket);
    if (!reads) socket.pause();
    await once(socket, 'connect');
    return client;
  }

  send(...parts: (string | Buffer)[]): this {
    for (const part of parts) this.socket.write(part);
    return this;
  }

  /** The next response with a Content-Length. */
  async answer(): Promise<RawAnswer> {
    let answer: RawAnswer | undefined;
    await until('an answer has arrived', async () => {
      answer = this.take();
      return answer !== undefined || this.socket.destroyed;
    });
    if (answer === undefined) throw new Error(`the connection was closed after: ${this.received}`);
    return answer;
  }

  /** Resolves when the text that was received but not yet read matches. */
  async receives(pattern: RegExp): Promise<void> {
    await until(`an answer matches ${pattern}`, async () => pattern.test(this.received));
  }

  /** Resolves with the text not yet read when the service has closed the connection. */
  async closed(): Promise<string> {
    await until('the connection is closed', async () => this.socket.destroyed);
    return this.received;
  }

  destroy(): void {
    this.socket.destroy();
  }

  private take(): RawAnswer | undefined {
    const end = this.received.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const head = this.received.slice(0, end).toLowerCase();
    const length = Number(/^content-length: (\d+)$/m.exec(head.replaceAll('\r', ''))?.[1] ?? 0);
    const rest = this.received.slice(end + 4);
    if (rest.length < length && !head.startsWith('http/1.1 1')) return undefined;
    this.received = rest.slice(length);
    return { status: Number(head.slice(9, 12)), head, body: rest.slice(0, length) };
  }
}

/** A POST request's head. */
export function postHead(path: string, headers: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** A complete POST request with a JSON body. */
export function jsonPost(path: string, body: unknown): string {
  const text = JSON.stringify(body);
  const head = postHead(path, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  return head + text;
}
