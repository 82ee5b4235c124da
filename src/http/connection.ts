import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isLoopback } from '../config/loopback.js';
import { callerOf } from '../request/caller.js';

/** Requests that may wait on one connection behind the one that is worked on. */
export const MOST_WAITING = 100;

/** `answered`: whether all of the answer is out; if not, it never can be. */
type Over = (answered: boolean) => void;

/** `ends`: what is to be called once, when the exchange has ended. */
type Start = (ends: Over[]) => void;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly start: Start;
  readonly ends: Over[];
}

const CONNECTION = Symbol('connection');

interface Connected extends Socket {
  [CONNECTION]?: Connection;
}

export function connectionOf(socket: Connected): Connection {
  const known = socket[CONNECTION];
  if (known !== undefined) return known;
  const connection = new Connection(socket);
  socket[CONNECTION] = connection;
  return connection;
}

/**
 * A connection's exchanges, in the order of its requests, which are begun one at a time. A request that is pipelined behind
 * one that changes something must wait for its answer (RFC 9112, 9.3.2), and for a client that reads no answers no more
 * than one is made.
 */
export class Connection {
  /** The caller that is counted for requests whose credentials are not known. */
  readonly address: string;
  /** The one where none are asked for: nobody on this machine, where all have one address. */
  readonly anonymous: string | undefined;
  private readonly exchanges: Exchange[] = [];
  private last: (() => void) | undefined;
  private onBusy: ((busy: boolean) => void) | undefined;
  /** What is done for it, side by side: work for a request may outlive its answer. */
  private works = 0;

  constructor(private readonly socket: Socket) {
    const ip = socket.remoteAddress ?? '';
    this.address = callerOf(undefined, ip);
    this.anonymous = isLoopback(ip) ? undefined : this.address;
    socket.once('close', () => {
      for (const exchange of [...this.exchanges]) this.over(exchange);
    });
  }

  /** Has `onBusy` told whether something is done for the connection. */
  watch(onBusy: (busy: boolean) => void): void {
    this.onBusy = onBusy;
  }

  /** Says that something more, or something less, is done for the connection. */
  setBusy(busy: boolean): void {
    const before = this.works;
    this.works += busy ? 1 : -1;
    if (before > 0 !== this.works > 0) this.onBusy?.(this.works > 0);
  }

  /**
   * Calls `start` once all earlier requests have been answered. A connection that has too many waiting is closed. A
   * response's own `close` does not tell that an exchange has ended: of requests pipelined on one connection, only the first
   * has it when the connection breaks.
   */
  begin(request: IncomingMessage, response: ServerResponse, start: Start): void {
    // Not writable: nothing can be answered any more, though what its client still sends is read.
    if (this.last || !this.socket.writable) return;
    if (this.exchanges.length > MOST_WAITING) {
      this.socket.destroy();
      return;
    }
    const exchange: Exchange = { request, response, start, ends: [] };
    this.exchanges.push(exchange);
    response.once('close', () => this.over(exchange));
    if (this.exchanges.length === 1) start(exchange.ends);
  }

  /** Calls `over` once, when the exchange of a request has ended. */
  whenOver(request: IncomingMessage, over: Over): void {
    const exchange = this.exchanges.find((one) => one.request === request);
    if (exchange) exchange.ends.push(over);
    else over(false);
  }

  /**
   * Begins nothing more, and calls `last` when all requests that came whole are answered: at once if there are none. False
   * if that cannot be, because an answer has begun to a request that will never be whole.
   */
  endWith(last: () => void): boolean {
    if (this.last) return true;
    const [first] = this.exchanges;
    if (first && !first.request.complete && first.response.headersSent) return false;
    this.last = last;
    if (!first?.request.complete) last();
    return true;
  }

  private over(exchange: Exchange): void {
    if (this.exchanges[0] !== exchange) return;
    this.exchanges.shift();
    for (const over of exchange.ends) over(exchange.response.writableFinished);
    // An answer may have been the connection's last: then nothing can be answered any more.
    if (!this.socket.writable) return;
    const next = this.exchanges.at(0);
    if (this.last && !next?.request.complete) this.last();
    else next?.start(next.ends);
  }
}
