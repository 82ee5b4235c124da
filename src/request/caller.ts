import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { contextOf } from './context.js';
import { ANONYMOUS, type Principal } from './principal.js';
import type { Request } from './request.js';

/** Parameter of a route that is not public: who asks. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const { principal } = contextOf(context.switchToHttp().getRequest<Request>().raw);
  if (!principal) throw new Error('a public route has no caller');
  return principal;
});

/** Who is counted for a request of an address: the principal, or the address where everyone is the same one. */
export function callerOf(principal: Principal | undefined, ip: string): string {
  return principal === undefined || principal.id === ANONYMOUS.id ? `address:${ip}` : principal.id;
}
