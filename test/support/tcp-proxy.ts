import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { RespFrames } from './resp-frames.js';

/** `request`: from the client to the server. `reply`: from the server to the client. */
export type Direction = 'request' | 'reply';

/** A position in a stream. */
interface Place {
  /** The number of frames that pass first. */
  skip: number;
  readonly frames: RespFrames;
  /** The number of bytes that pass after those frames. */
  left: number;
}

/** A pending cut. */
interface Cut extends Place {
  readonly direction: Direction;
  readonly happened: () => void;
}

/** An action to run before a command is delivered. */
interface Act extends Place {
  readonly run: () => Promise<unknown>;
}

/** A TCP proxy on loopback whose connections can be cut after any byte, or delayed. */
export class TcpProxy {
  private readonly tunnels = new Set<Tunnel>();
  private cut: Cut | undefined;
  private act: Act | undefined;
  private readonly forwarded = { request: 0, reply: 0 };
  private watched: Readonly<Record<Direction, RespFrames>> | undefined;
  private refuses = false;

  private constructor(
    private readonly server: Server,
    private readonly target: number,
  ) {
    server.on('connection', (client) => (this.refuses ? client.destroy() : this.accept(client)));
  }

  /** Starts a proxy that forwards to a loopback port. */
  static async start(target: number): Promise<TcpProxy> {
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
    const proxy = new TcpProxy(server, target);
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /**
   * Lets `frames` commands or replies and then `bytes` bytes pass in a direction, and cuts all connections when another
   * byte would follow. Takes effect once. Calls `happened` at the cut.
   */
  cutAfter(direction: Direction, bytes: number, frames = 0, happened = (): void => undefined): void {
    this.cut = { direction, skip: frames, frames: new RespFrames(), left: bytes, happened };
  }

  /** Lets `commands` commands pass, then runs `run` to its end before it delivers the next one. Takes effect once. */
  actAfter(commands: number, run: () => Promise<unknown>): void {
    this.act = { skip: commands, frames: new RespFrames(), left: 0, run };
  }

  /** Whether no cut is pending, because the requested cut has happened or none was requested. */
  get hasCut(): boolean {
    return this.cut === undefined;
  }

  /** Cancels a pending cut. Returns true if none was pending. */
  disarm(): boolean {
    const happened = this.hasCut;
    this.cut = undefined;
    return happened;
  }

  /** Cuts all connections, and closes new ones immediately until `restore`. */
  interrupt(): void {
    this.refuses = true;
    this.cutAll();
  }

  restore(): void {
    this.refuses = false;
  }

  /** Counts the bytes that pass from now on. The returned function gives the count so far. */
  count(): () => Readonly<Record<Direction, number>> {
    const before = { ...this.forwarded };
    return () => ({
      request: this.forwarded.request - before.request,
      reply: this.forwarded.reply - before.reply,
    });
  }

  /**
   * Watches one idle connection. The returned function ends the watch. It gives the lengths of the frames that have
   * passed.
   */
  watchFrames(): () => Readonly<Record<Direction, readonly number[]>> {
    const watched = { request: new RespFrames(), reply: new RespFrames() };
    this.watched = watched;
    return () => {
      this.watched = undefined;
      const { request, reply } = watched;
      return { request: request.lengths, reply: reply.lengths };
    };
  }

  /**
   * Lets `bytes` more bytes pass to the server on each current connection. The proxy keeps everything that the client
   * sends after them, and cuts the client off. The returned function delivers the kept bytes, if any. It resolves when
   * the server has received them, to whether it delivered any.
   */
  delayAfter(bytes: number): () => Promise<boolean> {
    const delayed = [...this.tunnels];
    for (const tunnel of delayed) tunnel.delayAfter(bytes);
    return async () => (await Promise.all(delayed.map((tunnel) => tunnel.deliver()))).includes(true);
  }

  async stop(): Promise<void> {
    this.cutAll();
    const closed = once(this.server, 'close');
    this.server.close();
    await closed;
  }

  private accept(client: Socket): void {
    const tunnel = new Tunnel(client, connect({ port: this.target, host: '127.0.0.1', noDelay: true }), {
      pass: (direction, chunk) => this.pass(direction, chunk),
      actIn: (chunk) => this.actIn(chunk),
      cutAll: () => this.cutAll(),
      ended: () => void this.tunnels.delete(tunnel),
    });
    this.tunnels.add(tunnel);
  }

  /** The part of a chunk that may pass. If that isn't all of it, a cut follows. */
  private pass(direction: Direction, chunk: Buffer): Buffer {
    let passing = chunk;
    if (this.cut?.direction === direction) {
      passing = chunk.subarray(0, bytesBefore(this.cut, chunk));
      if (passing.length < chunk.length) {
        this.cut.happened();
        this.cut = undefined;
      }
    }
    this.forwarded[direction] += passing.length;
    this.watched?.[direction].ends(passing);
    return passing;
  }

  /** The action due within a chunk, and the number of bytes before it. */
  private actIn(chunk: Buffer): { readonly at: number; readonly run: Act['run'] } | undefined {
    const { act } = this;
    const at = act ? bytesBefore(act, chunk) : chunk.length;
    if (!act || at === chunk.length) return undefined;
    this.act = undefined;
    return { at, run: act.run };
  }

  private cutAll(): void {
    for (const tunnel of this.tunnels) tunnel.cut();
  }
}

/** How many of a chunk's bytes come before a position. */
function bytesBefore(place: Place, chunk: Buffer): number {
  let skipped = 0;
  if (place.skip > 0) {
    const ends = place.frames.ends(chunk);
    skipped = ends[place.skip - 1] ?? chunk.length;
    place.skip = Math.max(0, place.skip - ends.length);
    if (place.skip > 0) return chunk.length;
  }
  const passing = Math.min(place.left, chunk.length - skipped);
  place.left -= passing;
  return skipped + passing;
}

interface Control {
  pass(direction: Direction, chunk: Buffer): Buffer;
  actIn(chunk: Buffer): { readonly at: number; readonly run: Act['run'] } | undefined;
  cutAll(): void;
  ended(): void;
}

/** One connection through the proxy. */
class Tunnel {
  private isCut = false;
  /** The number of request bytes that may pass before the rest is kept. */
  private before = Infinity;
  private readonly kept: Buffer[] = [];

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly control: Control,
  ) {
    client.on('data', (chunk: Buffer) => this.request(chunk));
    server.on('data', (chunk: Buffer) => this.forward('reply', chunk, client));
    // Only the end of the connection matters here, and it ends after an error.
    for (const socket of [client, server]) socket.on('error', () => undefined);
    client.on('close', () => {
      if (this.kept.length === 0) this.cut();
    });
    server.on('close', () => this.cut());
  }

  delayAfter(bytes: number): void {
    this.before = bytes;
  }

  async deliver(): Promise<boolean> {
    this.before = Infinity;
    if (this.kept.length === 0 || this.server.closed) return false;
    // `once` of node:events would reject if the server was killed in the meantime. Only the end matters.
    const closed = new Promise((resolve) => this.server.once('close', resolve));
    this.server.end(Buffer.concat(this.kept));
    await closed;
    return true;
  }

  /** Ends both sides. Data that was already written still arrives. */
  cut(): void {
    this.isCut = true;
    // Reads and discards the remaining data, so that the ends are noticed.
    this.client.end();
    this.server.end();
    this.control.ended();
  }

  private request(chunk: Buffer): void {
    const { client, server } = this;
    const act = this.control.actIn(chunk);
    this.forward('request', this.keep(act ? chunk.subarray(0, act.at) : chunk), server);
    if (!act) return;
    client.pause();
    void act.run().finally(() => {
      this.request(chunk.subarray(act.at));
      client.resume();
    });
  }

  private keep(chunk: Buffer): Buffer {
    const passing = chunk.subarray(0, this.before);
    this.before -= passing.length;
    if (passing.length < chunk.length) {
      this.kept.push(chunk.subarray(passing.length));
      this.client.end();
    }
    return passing;
  }

  private forward(direction: Direction, chunk: Buffer, to: Socket): void {
    if (this.isCut || chunk.length === 0) return;
    const passing = this.control.pass(direction, chunk);
    to.write(passing);
    if (passing.length < chunk.length) this.control.cutAll();
  }
}
