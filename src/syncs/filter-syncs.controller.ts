import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Keys } from '#bloom';
import type { Operation } from '#store';
import { ItemsDto } from '../batches/batch.dto.js';
import { BatchRunner } from '../batches/batch-runner.js';
import { SyncView } from '../filters/sync.view.js';
import { ItemsService } from '../filters/items.service.js';
import { Mutation } from '../idempotency/decorators.js';
import { BatchRoute } from '../openapi/decorators.js';
import type { Reply, Request } from '../request/request.js';
import { NamePipe } from '../validation/name.js';
import { OptionalBodyPipe } from '../validation/shallow.pipe.js';
import { AbandonSyncRoute, CommitSyncRoute, GetSyncRoute, lineCodes, OpenSyncRoute } from './routes.js';
import { CommitSyncDto, OpenSyncDto } from './sync.dto.js';
import { SyncIdPipe } from './sync-id.pipe.js';
import { CommittedSyncView, KeptItemsView } from './sync.view.js';
import { SyncsService } from './syncs.service.js';

const KIND = 'filter';
const MISSING = 'FILTER_NOT_FOUND';

@ApiTags('Syncs')
@Controller('v1/filters/:name/syncs')
export class FilterSyncsController {
  constructor(
    private readonly batches: BatchRunner,
    private readonly syncs: SyncsService,
    private readonly items: ItemsService,
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
    void reply.header('location', `/v1/filters/${name}/syncs/${sync.id}`);
    return sync;
  }

  @Get(':id')
  @GetSyncRoute(MISSING)
  get(@Param('name', NamePipe) name: string, @Param('id', SyncIdPipe) id: string): Promise<SyncView> {
    return this.syncs.get(KIND, name, id);
  }

  @Post(':id/items')
  @HttpCode(200)
  @BatchRoute({
    verb: 'keep',
    entries: 'items',
    access: 'write',
    summary: 'Send items to keep',
    mutates: true,
    body: ItemsDto,
    answer: KeptItemsView,
    codes: lineCodes(MISSING),
  })
  keep(
    @Param('name', NamePipe) name: string,
    @Param('id', SyncIdPipe) id: string,
    @Req() request: Request,
  ): Promise<object> {
    return this.batches.mutate(
      request,
      (items: Keys, operation: Operation) => this.items.keep(name, id, items, operation),
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
