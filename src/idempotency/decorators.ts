import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from '../request/request.js';
import { RequestOperation } from './operations.js';

/** Parameter of a mutating route: the request's operation. */
export const Mutation = createParamDecorator((_: unknown, context: ExecutionContext): RequestOperation =>
  RequestOperation.of(context.switchToHttp().getRequest<Request>()),
);
