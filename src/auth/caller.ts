import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from '../http/request.js';
import type { Principal } from './principal.js';

/** Parameter of a route that is not public: who asks. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const { principal } = context.switchToHttp().getRequest<Request>();
  if (!principal) throw new Error('a public route has no caller');
  return principal;
});
