import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Reply } from '../request/request.js';
import { Documented } from '../openapi/decorators.js';
import { Metrics } from '../metrics/metrics.js';

@ApiTags('Operation')
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  @Documented({ access: 'read', allNames: true, summary: 'Metrics for Prometheus' }, { probe: true })
  @ApiProduces('text/plain')
  @ApiOkResponse({ schema: { type: 'string' } })
  scrape(@Res({ passthrough: true }) reply: Reply): Promise<string> {
    void reply.type(this.metrics.contentType);
    return this.metrics.scrape();
  }
}
