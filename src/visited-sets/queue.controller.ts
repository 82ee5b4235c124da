import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Operation } from '#store';
import { Mutation } from '../idempotency/decorators.js';
import { MutatingRoute } from '../openapi/decorators.js';
import { NamePipe } from '../validation/name.js';
import { ShallowPipe } from '../validation/shallow.pipe.js';
import { CrawlQueueService } from './crawl-queue.service.js';
import { LeaseIdsPipe } from './lease-ids.pipe.js';
import { LeaseDto, LeaseIdsDto } from './visited-set.dto.js';
import { AckedView, LeasesView, ReleasedView } from './visited-set.view.js';

@ApiTags('Queue')
@Controller('v1/visited-sets/:name/queue')
export class QueueController {
  constructor(private readonly queue: CrawlQueueService) {}

  @Post('lease')
  @HttpCode(200)
  @MutatingRoute({
    access: 'write',
    summary: 'Take URLs to fetch, hidden from others until the lease ends',
    codes: ['VISITED_SET_NOT_FOUND'],
  })
  @ApiOkResponse({ type: LeasesView })
  lease(
    @Param('name', NamePipe) name: string,
    @Body(ShallowPipe) body: LeaseDto,
    @Mutation() operation: Operation,
  ): Promise<LeasesView> {
    return this.queue.lease(name, body, operation);
  }

  @Post('ack')
  @HttpCode(200)
  @MutatingRoute({
    access: 'write',
    summary: 'Take fetched URLs off the queue',
    codes: ['VISITED_SET_NOT_FOUND'],
  })
  @ApiBody({ type: LeaseIdsDto })
  @ApiOkResponse({ type: AckedView, description: 'One result per id, in order' })
  ack(
    @Param('name', NamePipe) name: string,
    @Body(LeaseIdsPipe) ids: readonly string[],
    @Mutation() operation: Operation,
  ): Promise<{ results: string[] }> {
    return this.queue.ack(name, ids, operation);
  }

  @Post('release')
  @HttpCode(200)
  @MutatingRoute({
    access: 'write',
    summary: 'Give leased URLs back at once',
    codes: ['VISITED_SET_NOT_FOUND'],
  })
  @ApiBody({ type: LeaseIdsDto })
  @ApiOkResponse({ type: ReleasedView, description: 'One result per id, in order' })
  release(
    @Param('name', NamePipe) name: string,
    @Body(LeaseIdsPipe) ids: readonly string[],
    @Mutation() operation: Operation,
  ): Promise<{ results: string[] }> {
    return this.queue.release(name, ids, operation);
  }
}
