import { Agent, request, type IncomingMessage } from 'node:http';

export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** Keep-alive connections to one service. Sends bodies unchanged, and reads responses to the end. */
export class HttpClient {
  private readonly agent: Agent;

  constructor(
    private readonly port: number,
    connections: number,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections });
  }

  /** Rejects on any status but 2xx, because no row counts refusals. */
  async post(path: string, body: Buffer, type = 'application/json'): Promise<Reply> {
    const reply = await this.send('POST', path, body, type);
    if (reply.status >= 300) {
      throw new Error(`POST ${path} answered ${reply.status}: ${reply.text.slice(0, 300)}`);
    }
    return reply;
  }

  get(path: string): Promise<Reply> {
    return this.send('GET', path);
  }

  /** Rejects on any status but 2xx. */
  async delete(path: string): Promise<void> {
    const { status, text } = await this.send('DELETE', path);
    if (status >= 300) throw new Error(`DELETE ${path} answered ${status}: ${text.slice(0, 300)}`);
  }

  close(): void {
    this.agent.destroy();
  }

  private send(method: string, path: string, body?: Buffer, type?: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const headers = body && type ? { 'content-type': type, 'content-length': body.length } : {};
      const outgoing = request(
        { host: '127.0.0.1', port: this.port, method, path, agent: this.agent, headers },
        (incoming) => readWhole(incoming, resolve, reject),
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}

function readWhole(
  incoming: IncomingMessage,
  resolve: (reply: Reply) => void,
  reject: (error: Error) => void,
): void {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('error', reject);
  incoming.on('end', () => {
    const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    resolve({ status: incoming.statusCode ?? 0, text: bytes.toString('latin1') });
  });
}

/** Runs `task` for 0 … count - 1, started in that order, at most `width` at a time. */
export async function inFlight(
  width: number,
  count: number,
  task: (i: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await task(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
}
