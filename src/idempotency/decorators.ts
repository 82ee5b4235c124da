import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Operation } from '#store';
import type { Request } from '../request/request.js';
import { operationOf } from './operations.js';

/** Parameter of a mutating route: the request's operation. */
export const Mutation = createParamDecorator((_: unknown, context: ExecutionContext): Operation =>
  operationOf(context.switchToHttp().getRequest<Request>()),
);
