import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { CATALOGUE } from '../errors/catalogue.js';
import type { ProblemBody } from '../errors/problem.js';
import { discard } from '../http/discard.js';
import { whenOver } from '../http/exchange-end.js';
import { nextRequestId } from '../http/request-id.js';
import type { Headers } from '../http/security-headers.js';
import { demandOf } from './demand.js';
import type { Bounded, InFlight } from './in-flight.js';
import { overloaded } from './refusal.js';
import { assignSlot } from './slots.js';
import { Turns } from './turns.js';

/** How often refusals are logged at most: the log must not be one more load. */
const LOG_EVERY_MS = 10_000;

export interface GateOptions {
  /** Of every answer. */
  readonly headers: Headers;
  readonly logger: Logger;
  /** Bytes of a JSON body. */
  readonly maxBodyBytes: number;
}

/**
 * Stands before the HTTP framework and answers OVERLOADED to what finds no room, by the head alone. Before the
 * framework, because a refusal must cost a fraction of an answer: if it does not, refusing is the overload.
 */
export class Gate {
  private readonly turns = new Turns();
  private readonly problems: Readonly<Record<Bounded, ProblemBody>>;
  private loggedAt = -Infinity;

  constructor(
    private readonly inFlight: InFlight,
    private readonly options: GateOptions,
  ) {
    const problem = (bound: Bounded): ProblemBody => overloaded(bound, inFlight.bounds[bound]).body('');
    this.problems = {
      requests: problem('requests'),
      streams: problem('streams'),
      probes: problem('probes'),
      bytes: problem('bytes'),
    };
  }

  /** Lets requests of `server` through to `handle` as there is room. */
  guard(server: Server, handle: RequestListener): void {
    const take: RequestListener = (request, response) => this.take(request, response, handle);
    // Other expectations than 100-continue may be ignored (RFC 9110, 10.1.1); Node's own 417 is no problem document.
    server.on('request', take).on('checkExpectation', take);
    // What a client asks before it sends its body: refused, it never does.
    server.on('checkContinue', (request, response) => {
      response.shouldKeepAlive = false;
      this.take(request, response, () => {
        response.writeContinue();
        handle(request, response);
      });
    });
  }

  private take(request: IncomingMessage, response: ServerResponse, handle: RequestListener): void {
    const { kind, bytes } = demandOf(request, this.options.maxBodyBytes);
    const slot = this.inFlight.admit(kind, bytes);
    if (typeof slot === 'string') {
      this.refuse(request, response, slot);
      return;
    }
    assignSlot(request, slot);
    whenOver(request, response, () => slot.release());
    if (kind === 'probes') handle(request, response);
    else {
      this.turns.begin(bytes, () => {
        if (!request.socket.destroyed) handle(request, response);
      });
    }
  }

  private refuse(request: IncomingMessage, response: ServerResponse, bound: Bounded): void {
    const requestId = nextRequestId();
    const { status, retryAfter } = CATALOGUE.OVERLOADED;
    const body = JSON.stringify({ ...this.problems[bound], requestId });
    response.writeHead(status, {
      ...this.options.headers,
      'content-type': 'application/problem+json',
      'content-length': Buffer.byteLength(body),
      'x-request-id': requestId,
      'retry-after': String(retryAfter),
    });
    response.end(body);
    discard(request);
    this.log(bound);
  }

  private log(bound: Bounded): void {
    const now = performance.now();
    if (now - this.loggedAt < LOG_EVERY_MS) return;
    this.loggedAt = now;
    this.options.logger.warn(
      {
        code: 'OVERLOADED',
        bound,
        limit: this.inFlight.bounds[bound],
        refused: this.inFlight.refused(bound),
      },
      'requests are refused',
    );
  }
}
