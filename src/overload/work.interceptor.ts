import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { finalize, type Observable } from 'rxjs';
import type { Request } from '../http/request.js';
import { slotOf } from './slots.js';

/** Keeps a request's slot while its controller works, also when its client is gone. */
@Injectable()
export class WorkInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const slot = slotOf(context.switchToHttp().getRequest<Request>().raw);
    if (slot === undefined) return next.handle();
    slot.retain();
    return next.handle().pipe(finalize(() => slot.release()));
  }
}
