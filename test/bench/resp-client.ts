import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { respCommand } from '../support/resp-client.js';
import { RespFrames } from '../support/resp-frames.js';
import { assertSetUp } from './row.js';

const REPLY_BYTES = ':1\r\n'.length;
const ONE = 0x31;

/**
 * A fast client for the Redis protocol, mostly for commands whose replies are `:0` or `:1`. It also works with Redis.
 */
export class BenchRespClient {
  private waiting: (() => void) | undefined;
  private missing = 0;
  private at = 0;
  private ones = 0;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.take(chunk));
  }

  static async connect(port: number): Promise<BenchRespClient> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.setNoDelay(true);
    return new BenchRespClient(socket);
  }

  /** Sends `count` commands in one write. Returns how many replies are 1. */
  async send(commands: Buffer, count: number): Promise<number> {
    this.missing = count * REPLY_BYTES;
    this.ones = 0;
    const answered = new Promise<void>((resolve) => {
      this.waiting = resolve;
    });
    this.socket.write(commands);
    await answered;
    return this.ones;
  }

  /** Sends one command whose reply is `+OK`. */
  async ok(...args: readonly string[]): Promise<void> {
    const reply = await this.replies(respCommand(...args), 1);
    assertSetUp(reply === '+OK\r\n', `${args[0] ?? ''} is answered OK`);
  }

  /** Sends `count` commands in one write. Returns all their replies as one text. The replies may have any form. */
  async replies(commands: Buffer, count: number): Promise<string> {
    const frames = new RespFrames();
    const chunks: Buffer[] = [];
    const all = new Promise<void>((resolve) => {
      this.socket.removeAllListeners('data').on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        frames.ends(chunk);
        if (frames.lengths.length >= count) resolve();
      });
    });
    this.socket.write(commands);
    await all;
    this.socket.removeAllListeners('data').on('data', (chunk: Buffer) => this.take(chunk));
    return Buffer.concat(chunks).toString();
  }

  close(): void {
    this.socket.destroy();
  }

  private take(chunk: Buffer): void {
    for (const byte of chunk) if (this.at++ % REPLY_BYTES === 1 && byte === ONE) this.ones++;
    this.missing -= chunk.length;
    if (this.missing > 0) return;
    assertSetUp(this.missing === 0, 'every reply is an integer of one digit');
    this.waiting?.();
  }
}
