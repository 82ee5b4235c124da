import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { ERRORS } from '../errors/error-codes.js';
import type { ProblemBody } from '../errors/problem.js';
import { discard } from '../http/discard.js';
import { connectionOf } from '../http/connection.js';
import type { Headers } from '../http/security-headers.js';
import type { Guard } from '../http/server.js';
import { LineBudget } from '../logging/line-budget.js';
import type { Callers } from './callers.js';
import type { InFlight } from './in-flight.js';
import { overloaded, REFUSALS, type Refusal } from './refusal.js';
import type { Routes } from './routes.js';
import { RequestPermit } from './request-permit.js';
import { contextOf, nextRequestId } from '../request/context.js';
import { Turns } from './turns.js';

/** How often refusals are logged at most: the log must not be one more load. */
const LOG_EVERY_MS = 10_000;

export interface AdmissionOptions {
  /** Of every answer. */
  readonly headers: Headers;
  readonly logger: Logger;
  readonly callers: Callers;
  readonly routes: Routes;
}

/**
 * Answers OVERLOADED to a request that finds no room, by its head alone. It stands before the HTTP framework because a
 * refusal must cost a fraction of an answer: if it does not, refusing is the overload.
 */
export class AdmissionControl implements Guard {
  private readonly turns = new Turns();
  private readonly problems: ReadonlyMap<Refusal, ProblemBody>;
  private readonly lines = new LineBudget(1, LOG_EVERY_MS);

  constructor(
    private readonly inFlight: InFlight,
    private readonly options: AdmissionOptions,
  ) {
    const refusals = Object.values(REFUSALS).flatMap(({ all, caller }) => [all, caller]);
    this.problems = new Map(
      refusals.map((refusal) => [refusal, overloaded(refusal, inFlight.bounds).body('')]),
    );
  }

  /** Lets requests of `server` through to `handle` as there is room. */
  guard(server: Server, handle: RequestListener): void {
    server.on('request', (request, response) => {
      this.take(request, response, () => handle(request, response));
    });
    // Other expectations than 100-continue may be ignored (RFC 9110, 10.1.1); Node's own 417 is no problem document.
    server.on('checkExpectation', (request, response) => {
      this.take(request, response, () => handle(request, response));
    });
    // What a client asks before it sends its body: refused, it never does.
    server.on('checkContinue', (request, response) => {
      response.shouldKeepAlive = false;
      this.take(request, response, () => {
        response.writeContinue();
        handle(request, response);
      });
    });
  }

  /** Calls `start` when it is the request's turn on its connection and in the event loop, if there is room for it. */
  private take(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    const { socket } = request;
    const { callers, routes } = this.options;
    const connection = connectionOf(socket);
    connection.begin(request, response, (ends) => {
      const caller = callers.of(request, connection);
      const { kind, bytes, sharedAnswer } = routes.classOf(request);
      const permit = this.inFlight.admit({ kind, bytes, caller, connection });
      if (!(permit instanceof RequestPermit)) {
        this.refuse(request, response, permit);
        return;
      }
      contextOf(request).permit = permit;
      // What the kernel has taken of an answer is no memory of ours; what all answers share is so once.
      response.once('prefinish', () => permit.answered(sharedAnswer ? 0 : socket.writableLength));
      ends.push(() => permit.over());
      if (kind === 'probes') start();
      else {
        this.turns.begin(caller, bytes, () => {
          if (!socket.destroyed) start();
        });
      }
    });
  }

  private refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
    const requestId = nextRequestId();
    const { status, retryAfter } = ERRORS.OVERLOADED;
    const body = JSON.stringify({ ...this.problems.get(refusal), requestId });
    response.writeHead(status, {
      ...this.options.headers,
      'content-type': 'application/problem+json',
      'content-length': Buffer.byteLength(body),
      'x-request-id': requestId,
      'retry-after': String(retryAfter),
    });
    response.end(body);
    discard(request);
    this.log(refusal);
  }

  private log({ bound, ofCaller }: Refusal): void {
    if (this.lines.take() === undefined) return;
    this.options.logger.warn(
      {
        code: 'OVERLOADED',
        bound,
        ofCaller,
        limit: this.inFlight.bounds[bound],
        refused: this.inFlight.refused(bound),
      },
      'the service refuses requests: OVERLOADED',
    );
  }
}
