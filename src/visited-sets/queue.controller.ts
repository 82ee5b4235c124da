import { Body, Controller, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Operation } from '#store';
import { Mutation } from '../idempotency/decorators.js';
import { Documented, MutatingRoute } from '../openapi/decorators.js';
import type { Request } from '../request/request.js';
import { NamePipe } from '../validation/name.js';
import { ShallowPipe } from '../validation/shallow.pipe.js';
import { CrawlQueueService } from './crawl-queue.service.js';
import { IdsPipe } from './ids.pipe.js';
import { DropQueuedDto, MAX_LOOKED, QueuedUrlsQueryDto } from './queue-entries.dto.js';
import { QueueEntriesService } from './queue-entries.service.js';
import { DroppedQueuedView, QueuedUrlsView } from './queue-entries.view.js';
import {
  AckDto,
  DeadLetterIdsDto,
  QueuePageQueryDto,
  ExtendDto,
  LeaseDto,
  ReleaseDto,
} from './visited-set.dto.js';
import {
  AckedView,
  DeadLettersView,
  ExtendedView,
  LeasesView,
  PurgedView,
  PutBackView,
  ReleasedView,
} from './visited-set.view.js';
import { clientOf } from './waiting-leases.js';

const CODES = ['VISITED_SET_NOT_FOUND', 'STORE_DATA_LOST'] as const;
const ONE_EACH = 'One result per id, in order';

@ApiTags('Queue')
@Controller('v1/visited-sets/:name/queue')
export class QueueController {
  constructor(
    private readonly queue: CrawlQueueService,
    private readonly entries: QueueEntriesService,
  ) {}

  @Post('lease')
  @HttpCode(200)
  @MutatingRoute(
    {
      access: 'write',
      summary: 'Lease URLs to fetch: no other client gets them until the lease ends',
      codes: CODES,
    },
    { waits: true },
  )
  @ApiOkResponse({ type: LeasesView })
  lease(
    @Param('name', NamePipe) name: string,
    @Body(ShallowPipe) body: LeaseDto,
    @Mutation() operation: Operation,
    @Req() request: Request,
  ): Promise<LeasesView> {
    return this.queue.lease(name, body, operation, clientOf(request));
  }

  @Post('ack')
  @HttpCode(200)
  @MutatingRoute({
    access: 'write',
    summary: 'Acknowledge fetched URLs: they leave the queue, permanently or for a set time',
    codes: CODES,
  })
  @ApiOkResponse({ type: AckedView, description: ONE_EACH })
  ack(
    @Param('name', NamePipe) name: string,
    @Body(IdsPipe) body: AckDto,
    @Mutation() operation: Operation,
  ): Promise<AckedView> {
    return this.queue.ack(name, body, operation);
  }

  @Post('release')
  @HttpCode(200)
  @MutatingRoute({
    access: 'write',
    summary: 'Release leased URLs, immediately or after a delay',
    codes: CODES,
  })
  @ApiOkResponse({ type: ReleasedView, description: ONE_EACH })
  release(
    @Param('name', NamePipe) name: string,
    @Body(IdsPipe) body: ReleaseDto,
    @Mutation() operation: Operation,
  ): Promise<ReleasedView> {
    return this.queue.release(name, body, operation);
  }

  @Post('extend')
  @HttpCode(200)
  @MutatingRoute({ access: 'write', summary: 'Extend leases', codes: CODES })
  @ApiOkResponse({ type: ExtendedView, description: ONE_EACH })
  extend(
    @Param('name', NamePipe) name: string,
    @Body(IdsPipe) body: ExtendDto,
    @Mutation() operation: Operation,
  ): Promise<ExtendedView> {
    return this.queue.extend(name, body, operation);
  }

  @Get('dead-letters')
  @Documented({
    access: 'read',
    summary: 'List dead letters: URLs that were leased `maxAttempts` times',
    codes: CODES,
  })
  @ApiOkResponse({ type: DeadLettersView })
  deadLetters(
    @Param('name', NamePipe) name: string,
    @Query(ShallowPipe) query: QueuePageQueryDto,
  ): Promise<DeadLettersView> {
    return this.queue.deadLetters(name, query);
  }

  @Post('dead-letters/put-back')
  @HttpCode(200)
  @MutatingRoute({
    access: 'write',
    summary: 'Put dead letters back into the queue, with their attempts reset to zero',
    codes: CODES,
  })
  @ApiOkResponse({ type: PutBackView, description: ONE_EACH })
  putBack(
    @Param('name', NamePipe) name: string,
    @Body(IdsPipe) { ids }: DeadLetterIdsDto,
    @Mutation() operation: Operation,
  ): Promise<PutBackView> {
    return this.queue.putBack(name, ids, operation);
  }

  @Post('dead-letters/purge')
  @HttpCode(200)
  @MutatingRoute({
    access: 'write',
    summary: 'Delete dead letters. Their URLs stay visited',
    codes: CODES,
  })
  @ApiOkResponse({ type: PurgedView, description: ONE_EACH })
  purge(
    @Param('name', NamePipe) name: string,
    @Body(IdsPipe) { ids }: DeadLetterIdsDto,
    @Mutation() operation: Operation,
  ): Promise<PurgedView> {
    return this.queue.purge(name, ids, operation);
  }

  @Get('urls')
  @Documented({
    access: 'read',
    summary: 'List the URLs in the queue, in every state',
    description:
      'A call reads part of the queue. A page may be shorter than `limit`, or empty, even if more follow. ' +
      'Each URL has the state in which the next lease would find it. ' +
      'If a URL changes its state while you read the pages, or its lease is extended, it may be listed twice or not ' +
      'at all. A URL whose lease, delay or schedule has ended may be listed twice. Any other URL is listed once. ' +
      'Forgotten and dropped URLs are not listed.',
    codes: CODES,
  })
  @ApiOkResponse({ type: QueuedUrlsView })
  urls(
    @Param('name', NamePipe) name: string,
    @Query(ShallowPipe) query: QueuedUrlsQueryDto,
  ): Promise<QueuedUrlsView> {
    return this.entries.list(name, query);
  }

  @Post('drop')
  @HttpCode(200)
  @MutatingRoute({
    access: 'write',
    summary: 'Drop URLs from the queue, in every state. They stay visited, unless `forget` is true',
    description:
      `A call reads at most ${MAX_LOOKED} URLs in the queue. Repeat it with \`next\` as \`cursor\` until there is no ` +
      '`next`. Workers that have leased a dropped URL get `unknown` for its id. URLs that other calls lease, ' +
      'acknowledge or move after the call has found them are neither dropped nor forgotten. If an attempt fails ' +
      'halfway, a retry with the same `Idempotency-Key` drops the remaining URLs, but does not count the URLs that the ' +
      'first attempt dropped.',
    codes: [...CODES, 'STORE_FULL'],
  })
  @ApiOkResponse({ type: DroppedQueuedView })
  drop(
    @Param('name', NamePipe) name: string,
    @Body(ShallowPipe) body: DropQueuedDto,
    @Mutation() operation: Operation,
  ): Promise<DroppedQueuedView> {
    return this.entries.drop(name, body, operation);
  }
}
