import { connect, type Socket } from 'node:net';
import { patienceMs } from '../support/patience.js';

/** One answer as received. Header names are in lower case. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The bytes that a connection received until it was silent, complete, or closed. */
export interface Exchange {
  readonly answers: readonly WireAnswer[];
  readonly closed: boolean;
  /** An incomplete answer's bytes. */
  readonly rest: string;
}

/**
 * A connection that sends bytes unchanged, because HTTP clients refuse to send such requests. It reconnects
 * after the service has closed it.
 */
export class Wire {
  private socket: Socket | undefined;

  constructor(private readonly port: number) {}

  /** Sends `bytes` and reads `expected` answers, fewer if the service closes. Throws if neither happens. */
  async exchange(bytes: Buffer, expected = 1): Promise<Exchange> {
    const socket = this.socket?.writable ? this.socket : connect(this.port, '127.0.0.1');
    this.socket = socket;
    return new Promise((resolve, reject) => {
      const answers: WireAnswer[] = [];
      let rest = Buffer.alloc(0);
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        socket.removeAllListeners().on('error', () => undefined);
        act();
      };
      const finish = (closed: boolean): void =>
        settle(() => {
          const keeps = !closed && answers.at(-1)?.headers.get('connection') !== 'close';
          if (!keeps) this.close();
          resolve({ answers, closed, rest: rest.toString('latin1') });
        });
      const timer = setTimeout(() => {
        settle(() => reject(new Error(`no answer; so far: ${rest.toString('latin1')}`)));
        this.close();
      }, patienceMs());
      socket.on('data', (chunk: Buffer) => {
        rest = Buffer.concat([rest, chunk]);
        for (let taken = takeAnswer(rest); taken; taken = takeAnswer(rest)) {
          rest = rest.subarray(taken.length);
          if (taken.answer.status >= 200) answers.push(taken.answer);
        }
        if (answers.length >= expected) finish(false);
      });
      // A reset also ends the connection. Bytes that were read before the reset count.
      socket.on('error', () => undefined).on('close', () => finish(true));
      socket.write(bytes);
    });
  }

  close(): void {
    this.socket?.destroy();
    this.socket = undefined;
  }
}

interface Taken {
  readonly answer: WireAnswer;
  /** Its length in bytes. */
  readonly length: number;
}

/** The first answer in `bytes`, if it is complete. */
function takeAnswer(bytes: Buffer): Taken | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers = new Map(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1]);
  const start = headEnd + 4;
  const noBody = status < 200 || status === 204 || status === 304;
  const body = noBody ? { text: '', end: start } : takeBody(bytes, start, headers);
  return body && { answer: { status, headers, body: body.text }, length: body.end };
}

function takeBody(
  bytes: Buffer,
  start: number,
  headers: ReadonlyMap<string, string>,
): { text: string; end: number } | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return takeChunks(bytes, start);
  const end = start + Number(headers.get('content-length'));
  return bytes.length >= end ? { text: bytes.toString('utf8', start, end), end } : undefined;
}

function takeChunks(bytes: Buffer, start: number): { text: string; end: number } | undefined {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (bytes.length < end) return undefined;
    if (size === 0) return { text: Buffer.concat(chunks).toString('utf8'), end };
    chunks.push(bytes.subarray(lineEnd + 2, end - 2));
    at = end;
  }
}
