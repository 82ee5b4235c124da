import { Catch, Injectable, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { discard } from './discard.js';
import { Lifecycle } from './lifecycle.js';
import { contextOf, idsOf } from '../request/context.js';
import type { Reply, Request } from '../request/request.js';
import { StreamedBody } from './streamed-body.js';
import { errorEntry } from '../errors/error-codes.js';
import { ProblemReporter } from './problem-reporter.js';
import { toProblem } from './to-problem.js';

/** Answers every error as problem+json. */
@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly reporter: ProblemReporter,
    private readonly lifecycle: Lifecycle,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<Request>(), http.getResponse<Reply>());
  }

  /** Answers a request with an error, even if the request never reached Nest. */
  answer(error: unknown, request: Request, reply: Reply): void {
    if (request.raw.socket.destroyed || reply.sent) return;
    const problem = toProblem(error);
    const ids = idsOf(request);
    contextOf(request.raw).trace?.fail(problem);
    this.reporter.report(problem, ids);
    if (request.body instanceof StreamedBody) discard(request.body.payload);
    const { retryAfter } = errorEntry(problem.code);
    if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
    // Fastify closes the connection if it can't parse a body, but this service reads or discards the whole body. So the
    // connection stays open, unless it will close anyway. The answer must then say so, or else the client's next
    // request is lost.
    const stays = reply.raw.shouldKeepAlive && !this.lifecycle.shuttingDown;
    if (stays && reply.hasHeader('connection')) reply.removeHeader('connection');
    void reply
      .headers(problem.headers)
      .code(problem.httpStatus)
      .header('x-request-id', request.id)
      .type('application/problem+json')
      .serializer(JSON.stringify)
      .send(problem.body(ids));
  }
}
