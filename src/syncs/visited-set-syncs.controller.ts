import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Operation } from '#store';
import { UrlsDto } from '../batches/batch.dto.js';
import { BatchRunner } from '../batches/batch-runner.js';
import { SyncView } from '../filters/sync.view.js';
import { Mutation } from '../idempotency/decorators.js';
import { BatchRoute } from '../openapi/decorators.js';
import type { Reply, Request } from '../request/request.js';
import { NamePipe } from '../validation/name.js';
import { OptionalBodyPipe } from '../validation/shallow.pipe.js';
import { UrlsService } from '../visited-sets/urls.service.js';
import { AbandonSyncRoute, CommitSyncRoute, GetSyncRoute, lineCodes, OpenSyncRoute } from './routes.js';
import { CommitSyncDto, OpenSyncDto } from './sync.dto.js';
import { SyncIdPipe } from './sync-id.pipe.js';
import { CommittedSyncView, KeptUrlsView } from './sync.view.js';
import { SyncsService } from './syncs.service.js';

const KIND = 'visited-set';
const MISSING = 'VISITED_SET_NOT_FOUND';

@ApiTags('Syncs')
@Controller('v1/visited-sets/:name/syncs')
export class VisitedSetSyncsController {
  constructor(
    private readonly batches: BatchRunner,
    private readonly syncs: SyncsService,
    private readonly urls: UrlsService,
  ) {}

  @Post()
  @OpenSyncRoute(MISSING)
  async open(
    @Param('name', NamePipe) name: string,
    @Body(OptionalBodyPipe) body: OpenSyncDto,
    @Mutation() operation: Operation,
    @Res({ passthrough: true }) reply: Reply,
  ): Promise<SyncView> {
    const sync = await this.syncs.open(KIND, name, body, operation);
    void reply.header('location', `/v1/visited-sets/${name}/syncs/${sync.id}`);
    return sync;
  }

  @Get(':id')
  @GetSyncRoute(MISSING)
  get(@Param('name', NamePipe) name: string, @Param('id', SyncIdPipe) id: string): Promise<SyncView> {
    return this.syncs.get(KIND, name, id);
  }

  @Post(':id/urls')
  @HttpCode(200)
  @BatchRoute({
    verb: 'keep-url',
    entries: 'urls',
    access: 'write',
    summary: 'Send URLs to keep',
    mutates: true,
    body: UrlsDto,
    answer: KeptUrlsView,
    codes: lineCodes(MISSING),
  })
  keep(
    @Param('name', NamePipe) name: string,
    @Param('id', SyncIdPipe) id: string,
    @Req() request: Request,
  ): Promise<object> {
    return this.batches.mutate(
      request,
      (urls: readonly string[], operation: Operation) => this.urls.keep(name, id, urls, operation),
      () => this.syncs.get(KIND, name, id),
    );
  }

  @Post(':id/commit')
  @HttpCode(200)
  @CommitSyncRoute(MISSING)
  async commit(
    @Param('name', NamePipe) name: string,
    @Param('id', SyncIdPipe) id: string,
    @Body(OptionalBodyPipe) body: CommitSyncDto,
    @Mutation() { deadline }: Operation,
    @Res({ passthrough: true }) reply: Reply,
  ): Promise<CommittedSyncView> {
    const sync = await this.syncs.commit(KIND, name, id, body, deadline);
    if (sync.state === 'committing') void reply.code(202);
    return sync;
  }

  @Delete(':id')
  @HttpCode(204)
  @AbandonSyncRoute(MISSING)
  abandon(
    @Param('name', NamePipe) name: string,
    @Param('id', SyncIdPipe) id: string,
    @Mutation() { deadline }: Operation,
  ): Promise<void> {
    return this.syncs.abandon(KIND, name, id, deadline);
  }
}
