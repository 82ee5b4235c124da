import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { RespFrames } from './resp-frames.js';

/** `request`: from the client to the server. `reply`: from the server to the client. */
export type Direction = 'request' | 'reply';

/** A place in a stream. */
interface Place {
  /** How many frames pass first. */
  skip: number;
  readonly frames: RespFrames;
  /** How many bytes pass after them. */
  left: number;
}

/** A cut to come. */
interface Cut extends Place {
  readonly direction: Direction;
  readonly happened: () => void;
}

/** What is to be done before a command is delivered. */
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

  /** Forwards to a port of the loopback. */
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
   * Takes effect once: `bytes` more bytes pass in a direction. When another byte would pass, all connections are cut.
   * With `frames`, so many commands or replies pass before those bytes. `happened` is called with the cut.
   */
  cutAfter(direction: Direction, bytes: number, frames = 0, happened = (): void => undefined): void {
    this.cut = { direction, skip: frames, frames: new RespFrames(), left: bytes, happened };
  }

  /** Takes effect once: so many commands pass. Before the next one is delivered, `run` ends. */
  actAfter(commands: number, run: () => Promise<unknown>): void {
    this.act = { skip: commands, frames: new RespFrames(), left: 0, run };
  }

  /** Whether no cut is pending: the requested one has happened, or none was requested. */
  get hasCut(): boolean {
    return this.cut === undefined;
  }

  /** Cancels a cut. Answers whether it had happened already. */
  disarm(): boolean {
    const happened = this.hasCut;
    this.cut = undefined;
    return happened;
  }

  /** Cuts all connections, and ends new ones at once until `restore`. */
  interrupt(): void {
    this.refuses = true;
    this.cutAll();
  }

  restore(): void {
    this.refuses = false;
  }

  /** Counts the bytes that pass from now on. The returned function answers how many. */
  count(): () => Readonly<Record<Direction, number>> {
    const before = { ...this.forwarded };
    return () => ({
      request: this.forwarded.request - before.request,
      reply: this.forwarded.reply - before.reply,
    });
  }

  /** Watches one idle connection. The returned function answers the lengths of the frames that have passed. */
  watchFrames(): () => Readonly<Record<Direction, readonly number[]>> {
    const watched = { request: new RespFrames(), reply: new RespFrames() };
    this.watched = watched;
    return () => {
      this.watched = undefined;
      return { request: watched.request.lengths, reply: watched.reply.lengths };
    };
  }

  /**
   * On the current connections, `bytes` more bytes pass to the server. What the client sends after them is stored, and
   * the client loses the connection. The returned function delivers the stored bytes. When the server has received
   * them, it answers whether there were any.
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

  /** The part of a chunk that may pass; a cut follows if that is not all of it. */
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

  /** What is to be done in the midst of a chunk, and behind how many of its bytes. */
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

/** How many bytes of a chunk are before a place. */
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
  /** How many bytes of the request may pass before the rest is stored. */
  private before = Infinity;
  private readonly kept: Buffer[] = [];

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly control: Control,
  ) {
    client.on('data', (chunk: Buffer) => this.request(chunk));
    server.on('data', (chunk: Buffer) => this.forward('reply', chunk, client));
    // An error is followed by the end of the connection, and only that matters here.
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
    // `once` of node:events would reject if the server was killed meanwhile; only the end counts.
    const closed = new Promise((resolve) => this.server.once('close', resolve));
    this.server.end(Buffer.concat(this.kept));
    await closed;
    return true;
  }

  /** Ends both sides. What has been written still arrives. */
  cut(): void {
    this.isCut = true;
    // What still arrives does not matter, but is read, so that the ends are noticed.
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
