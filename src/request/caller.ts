import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { contextOf } from './context.js';
import { ANONYMOUS, type Principal } from './principal.js';
import type { Request } from './request.js';

/** Parameter of a route that isn't public: the request's principal. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const { principal } = contextOf(context.switchToHttp().getRequest<Request>().raw);
  if (!principal) throw new Error('a public route has no caller');
  return principal;
});

/** The caller to charge for a request: the principal, or the address if the principal is anonymous. */
export function callerOf(principal: Principal | undefined, ip: string): string {
  return principal === undefined || principal.id === ANONYMOUS.id ? `address:${ip}` : principal.id;
}
