import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Reply, Request } from '../http/request.js';
import { ReadDeadline, RequestOperation } from './operations.js';

/**
 * Parameter of a mutating route: the request's operation, its id already in the answer's headers. The timeout comes
 * from the Fastify instance, because decorators are made before any setting is read.
 */
export const Mutation = createParamDecorator((_: unknown, context: ExecutionContext): RequestOperation => {
  const http = context.switchToHttp();
  const request = http.getRequest<Request>();
  const operation = RequestOperation.of(request, request.server.requestTimeoutMs);
  request.operationId = operation.id;
  http.getResponse<Reply>().header('idempotency-key', operation.id);
  return operation;
});

/** Parameter of a reading route: until when its caller waits. */
export const Reading = createParamDecorator((_: unknown, context: ExecutionContext): ReadDeadline => {
  return new ReadDeadline(context.switchToHttp().getRequest<Request>().server.requestTimeoutMs);
});
