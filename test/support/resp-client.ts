import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { RespFrames } from './resp-frames.js';
import { until } from './until.js';

/** A command as clients send it. */
export function respCommand(...args: readonly (string | Buffer)[]): Buffer {
  const parts = args.map((arg) => {
    const bytes = Buffer.from(arg);
    return Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]);
  });
  return Buffer.concat([Buffer.from(`*${args.length}\r\n`), ...parts]);
}

/** A connection to RESP_PORT. The test decides which bytes to send, and sees each reply's bytes. */
export class RespClient {
  private readonly frames = new RespFrames();
  private received: Buffer = Buffer.alloc(0);
  private readonly replies: string[] = [];

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.take(chunk));
    socket.on('error', () => undefined);
  }

  /** With `reads` false it never reads from the socket. */
  static async connect(port: number | undefined, reads = true): Promise<RespClient> {
    if (port === undefined) throw new Error('the service has no RESP_PORT');
    const socket = connect(port, '127.0.0.1');
    const client = new RespClient(socket);
    if (!reads) socket.pause();
    await once(socket, 'connect');
    return client;
  }

  /** The number of replies that have arrived and were not taken. */
  get arrived(): number {
    return this.replies.length;
  }

  send(...parts: readonly (string | Buffer)[]): this {
    for (const part of parts) this.socket.write(part);
    return this;
  }

  /** Sends one command and returns its reply. */
  async call(...args: readonly (string | Buffer)[]): Promise<string> {
    const [reply] = await this.send(respCommand(...args)).answers(1);
    return reply!;
  }

  /** Sends commands in one write. Returns their replies as they came over the wire. */
  pipeline(commands: readonly (readonly (string | Buffer)[])[]): Promise<string[]> {
    return this.send(Buffer.concat(commands.map((args) => respCommand(...args)))).answers(commands.length);
  }

  /** The next `count` replies. */
  async answers(count: number): Promise<string[]> {
    await until(`${count} replies have arrived`, async () => {
      if (this.socket.destroyed && this.replies.length < count) {
        throw new Error(`the connection was closed after ${this.replies.length} replies`);
      }
      return this.replies.length >= count;
    });
    return this.replies.splice(0, count);
  }

  /** Resolves once the service has closed the connection, with the replies that no call has taken. */
  async closed(): Promise<string[]> {
    await until('the connection is closed', async () => this.socket.destroyed);
    return this.replies.splice(0);
  }

  destroy(): void {
    this.socket.destroy();
  }

  private take(chunk: Buffer): void {
    const begun = this.received;
    const bytes = Buffer.concat([begun, chunk]);
    let at = 0;
    for (const end of this.frames.ends(chunk)) {
      this.replies.push(bytes.toString('utf8', at, begun.length + end));
      at = begun.length + end;
    }
    this.received = bytes.subarray(at);
  }
}
