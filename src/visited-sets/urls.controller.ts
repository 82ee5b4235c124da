import { Body, Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Operation } from '#store';
import { DiscoveriesDto, UrlsDto, VisitsDto } from '../batches/batch.dto.js';
import type { Discovery } from '../batches/entries.js';
import { BatchRunner } from '../batches/batch-runner.js';
import { FewEntriesPipe } from '../batches/few-entries.pipe.js';
import { ExplainUrlsDto } from '../filters/inspection.dto.js';
import { ExplainedUrlsView } from '../filters/inspection.view.js';
import { DirectBatchRoute, ExplainRoute } from '../openapi/decorators.js';
import type { Request } from '../request/request.js';
import { NamePipe } from '../validation/name.js';
import { orderOf } from './order.js';
import { ttlOf } from './ttl.js';
import { UrlsService } from './urls.service.js';
import { CheckedView, DiscoveredView, ForgottenView, VisitedView } from './visited-set.view.js';

@ApiTags('URLs')
@Controller('v1/visited-sets/:name/urls')
export class UrlsController {
  constructor(
    private readonly batches: BatchRunner,
    private readonly urls: UrlsService,
  ) {}

  @Post('discover')
  @HttpCode(200)
  @DirectBatchRoute({
    verb: 'discover',
    entries: 'discoveries',
    options: ['ttlSeconds', 'priority', 'delaySeconds'],
    access: 'write',
    summary: 'Visit URLs and queue the new ones, in one atomic step',
    mutates: true,
    body: DiscoveriesDto,
    answer: DiscoveredView,
    codes: ['VISITED_SET_NOT_FOUND', 'FILTER_FULL', 'STORE_FULL', 'QUOTA_EXCEEDED'],
  })
  discover(@Param('name', NamePipe) name: string, @Req() request: Request): Promise<object> {
    const options = { ttlMs: ttlOf(request), ...orderOf(request) };
    return this.batches.mutate(
      request,
      (urls: readonly Discovery[], operation: Operation) =>
        this.urls.discover(name, urls, operation, options),
      () => this.urls.open(name, options),
    );
  }

  @Post('visit')
  @HttpCode(200)
  @DirectBatchRoute({
    verb: 'visit',
    entries: 'urls',
    options: ['ttlSeconds'],
    access: 'write',
    summary: 'Visit URLs, without queueing them',
    mutates: true,
    body: VisitsDto,
    answer: VisitedView,
    codes: ['VISITED_SET_NOT_FOUND', 'FILTER_FULL', 'STORE_FULL', 'QUOTA_EXCEEDED'],
  })
  visit(@Param('name', NamePipe) name: string, @Req() request: Request): Promise<object> {
    const ttlMs = ttlOf(request);
    return this.batches.mutate(
      request,
      (urls: readonly string[], operation: Operation) => this.urls.visit(name, urls, operation, ttlMs),
      () => this.urls.open(name, { ttlMs }),
    );
  }

  @Post('check')
  @HttpCode(200)
  @DirectBatchRoute({
    verb: 'check-url',
    entries: 'urls',
    access: 'read',
    summary: 'Check URLs: `seen` is probable, `unseen` is certain',
    mutates: false,
    body: UrlsDto,
    answer: CheckedView,
    codes: ['VISITED_SET_NOT_FOUND'],
  })
  check(@Param('name', NamePipe) name: string, @Req() request: Request): Promise<object> {
    return this.batches.read(
      request,
      (urls: readonly string[], deadline) => this.urls.check(name, urls, deadline),
      () => this.urls.open(name),
    );
  }

  @Post('forget')
  @HttpCode(200)
  @DirectBatchRoute({
    verb: 'forget',
    entries: 'urls',
    access: 'write',
    summary: 'Forget URLs and remove them from the queue, so that they can be discovered again',
    mutates: true,
    body: UrlsDto,
    answer: ForgottenView,
    codes: ['VISITED_SET_NOT_FOUND', 'STORE_FULL'],
  })
  forget(@Param('name', NamePipe) name: string, @Req() request: Request): Promise<object> {
    return this.batches.mutate(
      request,
      (urls: readonly string[], operation: Operation) => this.urls.forget(name, urls, operation),
      () => this.urls.open(name),
    );
  }

  @Post('explain')
  @HttpCode(200)
  @ExplainRoute({
    summary: 'Explain the answers for a few URLs: their keys, the rules that made them, and their counters',
    codes: ['VISITED_SET_NOT_FOUND'],
  })
  @ApiBody({ type: ExplainUrlsDto })
  @ApiOkResponse({ type: ExplainedUrlsView })
  explain(
    @Param('name', NamePipe) name: string,
    @Body(FewEntriesPipe('urls')) urls: readonly string[],
  ): Promise<ExplainedUrlsView> {
    return this.urls.explain(name, urls);
  }
}
