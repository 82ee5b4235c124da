import { Controller, Get, Header, Param, Post, Query, Req, Res, type StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Operation } from '#store';
import { Caller } from '../request/caller.js';
import type { Principal } from '../request/principal.js';
import { answerCreated } from '../http/created.js';
import type { Reply, Request } from '../request/request.js';
import { Mutation } from '../idempotency/decorators.js';
import { NamePipe } from '../validation/name.js';
import { ShallowPipe } from '../validation/shallow.pipe.js';
import { VisitedSetView, visitedSetView } from '../visited-sets/visited-set.view.js';
import { ImportQueryDto } from './import-query.dto.js';
import { ExportRoute, ImportRoute } from './routes.js';
import { TransferService } from './transfer.service.js';

@ApiTags('Visited sets')
@Controller('v1/visited-sets')
export class VisitedSetTransferController {
  constructor(private readonly transfer: TransferService) {}

  @Get(':name/export')
  @Header('cache-control', 'no-store')
  @ExportRoute({
    summary: 'Export a visited set with its queue and URL profile as a file',
    codes: ['VISITED_SET_NOT_FOUND'],
  })
  export(@Param('name', NamePipe) name: string, @Req() request: Request): Promise<StreamableFile> {
    return this.transfer.export(name, 'visited-set', request);
  }

  @Post('import')
  @ImportRoute({
    summary: 'Create a visited set from an export',
    answer: VisitedSetView,
    codes: ['VISITED_SET_NOT_FOUND'],
  })
  async import(
    @Req() request: Request,
    @Query(ShallowPipe) query: ImportQueryDto,
    @Mutation() operation: Operation,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: Reply,
  ): Promise<VisitedSetView> {
    const described = await this.transfer.import('visited-set', request, query.name, operation, caller);
    return answerCreated(reply, '/v1/visited-sets', { view: visitedSetView(described), created: true });
  }
}
