import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { SYSTEM_CLOCK } from '#store';
import { ERRORS } from '../errors/error-codes.js';
import type { ProblemBody } from '../errors/problem.js';
import { discard } from '../http/discard.js';
import { connectionOf } from '../http/connection.js';
import { beginTrace } from '../http/request-trace.js';
import type { Headers } from '../http/security-headers.js';
import type { Guard } from '../http/server.js';
import { LineBudget } from '../logging/line-budget.js';
import type { Callers } from './callers.js';
import type { InFlight } from './in-flight.js';
import { overloaded, REFUSALS, type Refusal } from './refusal.js';
import type { Routes } from './routes.js';
import { RequestPermit } from './request-permit.js';
import { contextOf, idsOf, nextRequestId } from '../request/context.js';
import type { Tracing } from '../tracing/tracing.js';
import type { Turns } from './turns.js';

/** Minimum interval between log lines about refusals, so that logging doesn't add to an overload. */
const LOG_EVERY_MS = 10_000;

export interface AdmissionOptions {
  /** Headers on every answer. */
  readonly headers: Headers;
  readonly logger: Logger;
  readonly callers: Callers;
  readonly routes: Routes;
  readonly turns: Turns;
  /** Undefined if no traces are sent. */
  readonly tracing: Tracing | undefined;
}

/**
 * Answers requests that exceed a bound with OVERLOADED. It reads only their heads, and runs before the HTTP framework:
 * if a refusal didn't cost far less than an answer, the refusals themselves would overload the service.
 */
export class AdmissionControl implements Guard {
  private readonly problems: ReadonlyMap<Refusal, ProblemBody>;
  private readonly lines = new LineBudget(1, LOG_EVERY_MS);

  constructor(
    private readonly inFlight: InFlight,
    private readonly options: AdmissionOptions,
  ) {
    const refusals = Object.values(REFUSALS).flatMap(({ all, caller }) => [all, caller]);
    this.problems = new Map(
      refusals.map((refusal) => [refusal, overloaded(refusal, inFlight.bounds).body({ requestId: '' })]),
    );
  }

  /** Passes requests within the bounds to `handle`. */
  guard(server: Server, handle: RequestListener): void {
    server.on('request', (request, response) => {
      this.take(request, response, () => handle(request, response));
    });
    // A server may ignore expectations other than 100-continue (RFC 9110, 10.1.1). Node would answer with a 417 that is
    // not a problem document.
    server.on('checkExpectation', (request, response) => {
      this.take(request, response, () => handle(request, response));
    });
    // The client hasn't sent its body yet. If the request is refused, it never will.
    server.on('checkContinue', (request, response) => {
      response.shouldKeepAlive = false;
      this.take(request, response, () => {
        response.writeContinue();
        handle(request, response);
      });
    });
  }

  /**
   * Admits or refuses the request when its turn on the connection comes. `start` runs now or in a later turn of the
   * event loop.
   */
  private take(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    const { socket } = request;
    const { callers, routes, turns, tracing } = this.options;
    const arrived = tracing ? SYSTEM_CLOCK.monotonic() : 0;
    const connection = connectionOf(socket);
    connection.begin(request, response, (ends) => {
      const caller = callers.of(request, connection);
      const { kind, bytes, sharedAnswer, route } = routes.classOf(request);
      // Probes come every few seconds.
      const trace =
        tracing && kind !== 'probes'
          ? beginTrace(tracing, { request, response, route, arrived }, ends)
          : undefined;
      const context = contextOf(request);
      context.trace = trace;
      const permit = this.inFlight.admit({ kind, bytes, caller, connection });
      if (!(permit instanceof RequestPermit)) {
        this.refuse(request, response, permit);
        return;
      }
      context.permit = permit;
      // Bytes that the kernel has taken no longer use the service's memory. A shared answer is in memory only once.
      response.once('prefinish', () => permit.answered(sharedAnswer ? 0 : socket.writableLength));
      ends.push(() => permit.over());
      if (kind === 'probes') start();
      else {
        const begin = (): void => {
          if (socket.destroyed) return;
          trace?.admitted();
          if (trace) trace.run(start);
          else start();
        };
        // Node reads a small body right after its head. If the request starts after that, no listeners or timers are
        // needed to read the body.
        turns.begin(caller, bytes, bytes === 0 ? begin : () => setImmediate(begin));
      }
    });
  }

  private refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
    const ids = idsOf({ id: nextRequestId(), raw: request });
    const { status, retryAfter } = ERRORS.OVERLOADED;
    contextOf(request).trace?.fail({ code: 'OVERLOADED', httpStatus: status });
    const body = JSON.stringify({ ...this.problems.get(refusal), ...ids });
    response.writeHead(status, {
      ...this.options.headers,
      'content-type': 'application/problem+json',
      'content-length': Buffer.byteLength(body),
      'x-request-id': ids.requestId,
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
