import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The outcome of one request. */
export interface Outcome {
  /** 0 if the connection broke. */
  readonly status: number;
  /** From sending the request to the last byte of the response. */
  readonly ms: number;
}

/** The outcomes of a load, and its duration. */
export interface Load {
  readonly seconds: number;
  readonly outcomes: readonly Outcome[];
  /** Requests that were never sent, because every connection was still waiting for a response when they were due. */
  readonly unsent: number;
}

/** A complete POST request as it goes over the wire. */
export function rawPost(path: string, body: Buffer): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/**
 * Keep-alive connections that send prepared requests and read only the responses' status and length. Node's own client
 * would take more CPU than the service that it should overload.
 */
export class LoadClient {
  private readonly idle: Connection[] = [];
  private next = 0;

  private constructor(
    private readonly connections: readonly Connection[],
    private readonly requests: readonly Buffer[],
  ) {
    this.idle.push(...connections);
  }

  /** Opens connections that send `requests` in order, over and over. */
  static async open(port: number, connections: number, requests: readonly Buffer[]): Promise<LoadClient> {
    const open = Array.from({ length: connections }, () => Connection.open(port));
    return new LoadClient(await Promise.all(open), requests);
  }

  /** Keeps `width` requests in flight for `seconds`. */
  async closedLoop(width: number, seconds: number): Promise<Load> {
    const outcomes: Outcome[] = [];
    const end = performance.now() + seconds * 1_000;
    const worker = async (): Promise<void> => {
      while (performance.now() < end) await this.send(outcomes);
    };
    await Promise.all(Array.from({ length: width }, worker));
    return { seconds, outcomes, unsent: 0 };
  }

  /** Sends `rate` requests per second, whatever the responses. */
  async openLoop(rate: number, seconds: number): Promise<Load> {
    const outcomes: Outcome[] = [];
    const sending = new Set<Promise<void>>();
    const from = performance.now();
    let due = 0;
    let unsent = 0;
    for (let now = from; now < from + seconds * 1_000; now = performance.now()) {
      for (const until = ((now - from) / 1_000) * rate; due < until; due++) {
        if (this.idle.length === 0) {
          unsent++;
          continue;
        }
        const request = this.send(outcomes);
        sending.add(request);
        void request.then(() => sending.delete(request));
      }
      await sleep(1);
    }
    await Promise.all(sending);
    return { seconds, outcomes, unsent };
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }

  private async send(outcomes: Outcome[]): Promise<void> {
    const connection = this.idle.pop();
    if (connection === undefined) throw new Error('more requests at a time than connections');
    const request = this.requests[this.next++ % this.requests.length] as Buffer;
    const from = performance.now();
    const status = await connection.send(request);
    outcomes.push({ status, ms: performance.now() - from });
    this.idle.push(connection);
  }
}

const LENGTH = /\r\ncontent-length: (\d+)\r\n/i;

/** A connection with one request at a time. */
class Connection {
  private received = '';
  private answered: ((status: number) => void) | undefined;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (text: string) => this.take(text));
    socket.on('error', () => undefined);
    socket.on('close', () => this.answer(0));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('connect', () => resolve(new Connection(socket)));
    });
  }

  send(request: Buffer): Promise<number> {
    return new Promise((resolve) => {
      this.answered = resolve;
      if (this.socket.destroyed) this.answer(0);
      else this.socket.write(request);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private take(text: string): void {
    this.received += text;
    const end = this.received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = Number(LENGTH.exec(this.received)?.[1] ?? 0);
    if (this.received.length < end + 4 + length) return;
    const status = Number(this.received.slice(9, 12));
    this.received = '';
    this.answer(status);
  }

  private answer(status: number): void {
    const { answered } = this;
    this.answered = undefined;
    answered?.(status);
  }
}
