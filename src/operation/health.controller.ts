import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiOkResponse, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Reply } from '../request/request.js';
import { Documented } from '../openapi/decorators.js';
import { Store } from '../store/store.token.js';
import { HealthView, ReadyView, UnreadyView } from './health.view.js';
import { Lifecycle } from '../http/lifecycle.js';

@ApiTags('Operation')
@Controller()
export class HealthController {
  constructor(
    @Inject(Store) private readonly store: Store,
    private readonly lifecycle: Lifecycle,
  ) {}

  @Get('healthz')
  @Documented({ access: 'public', summary: 'Check whether the process is alive' }, { probe: true })
  @ApiOkResponse({ type: HealthView })
  health(): HealthView {
    return { status: 'ok' };
  }

  @Get('readyz')
  @Documented({ access: 'public', summary: 'Check whether the service can serve requests' }, { probe: true })
  @ApiOkResponse({ type: ReadyView })
  @ApiResponse({ status: 503, type: UnreadyView, description: 'Not ready' })
  async ready(@Res({ passthrough: true }) reply: Reply): Promise<ReadyView | UnreadyView> {
    const answer = await this.readiness();
    if (answer.status === 'unready') void reply.code(503).header('retry-after', '1');
    return answer;
  }

  private async readiness(): Promise<ReadyView | UnreadyView> {
    if (this.lifecycle.shuttingDown) return { status: 'unready', reason: 'the service is shutting down' };
    const { ready, reason = 'the store is not ready', warnings } = await this.store.readiness();
    return ready ? { status: 'ready', warnings: [...warnings] } : { status: 'unready', reason };
  }
}
