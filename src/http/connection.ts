import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isLoopback } from '../config/loopback.js';
import { callerOf } from '../request/caller.js';

/** Maximum number of requests that may wait on a connection behind the current one. */
export const MOST_WAITING = 100;

/** `answered` is true if the whole answer was sent. Otherwise, it never will be. */
type Over = (answered: boolean) => void;

/** `ends` collects callbacks that run once the exchange has ended. */
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
 * A connection's exchanges. They begin one at a time, in the order of the requests. A pipelined request must wait for
 * the answer to an earlier request that changes data (RFC 9112, 9.3.2). This order also means that the service prepares
 * at most one answer for a client that doesn't read.
 */
export class Connection {
  /** The caller charged for requests with unknown credentials. */
  readonly address: string;
  /**
   * The caller if no credentials are required. This is the address, or undefined on loopback, where all clients share
   * one.
   */
  readonly anonymous: string | undefined;
  private readonly exchanges: Exchange[] = [];
  private last: (() => void) | undefined;
  private onBusy: ((busy: boolean) => void) | undefined;
  /** How many pieces of work are in progress for the connection. Work for a request may outlive its answer. */
  private works = 0;

  constructor(private readonly socket: Socket) {
    const ip = socket.remoteAddress ?? '';
    this.address = callerOf(undefined, ip);
    this.anonymous = isLoopback(ip) ? undefined : this.address;
    socket.once('close', () => {
      for (const exchange of [...this.exchanges]) this.over(exchange);
    });
  }

  /** Calls `onBusy` when work for the connection begins, and when all of it has ended. */
  watch(onBusy: (busy: boolean) => void): void {
    this.onBusy = onBusy;
  }

  /** Counts a piece of work as begun or ended. */
  setBusy(busy: boolean): void {
    const before = this.works;
    this.works += busy ? 1 : -1;
    if (before > 0 !== this.works > 0) this.onBusy?.(this.works > 0);
  }

  /**
   * Calls `start` once all earlier requests have been answered. Closes a connection with too many waiting requests. A
   * response's `close` event doesn't show that an exchange has ended: if a connection breaks, only the first of its
   * pipelined requests gets this event.
   */
  begin(request: IncomingMessage, response: ServerResponse, start: Start): void {
    // If the socket isn't writable, no request can be answered, even if Node still reads requests from it.
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

  /** Calls `over` once a request's exchange has ended. */
  whenOver(request: IncomingMessage, over: Over): void {
    const exchange = this.exchanges.find((one) => one.request === request);
    if (exchange) exchange.ends.push(over);
    else over(false);
  }

  /**
   * Begins no more exchanges, and calls `last` when all complete requests are answered, or immediately if there are
   * none. Returns false if this is impossible because the service has begun to answer a request that will never be
   * complete.
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
    // The answer may have closed the connection. Then no other request can be answered.
    if (!this.socket.writable) return;
    const next = this.exchanges.at(0);
    if (this.last && !next?.request.complete) this.last();
    else next?.start(next.ends);
  }
}
