import { Controller, Get, Header, Param, Post, Query, Req, Res, type StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Operation } from '#store';
import { FilterView, filterView } from '../filters/filter.view.js';
import { Caller } from '../request/caller.js';
import type { Principal } from '../request/principal.js';
import { answerCreated } from '../http/created.js';
import type { Reply, Request } from '../request/request.js';
import { Mutation } from '../idempotency/decorators.js';
import { NamePipe } from '../validation/name.js';
import { ShallowPipe } from '../validation/shallow.pipe.js';
import { ImportQueryDto } from './import-query.dto.js';
import { ExportRoute, ImportRoute } from './routes.js';
import { TransferService } from './transfer.service.js';

@ApiTags('Filters')
@Controller('v1/filters')
export class FilterTransferController {
  constructor(private readonly transfer: TransferService) {}

  @Get(':name/export')
  @Header('cache-control', 'no-store')
  @ExportRoute({ summary: 'Export a filter as a file', codes: ['FILTER_NOT_FOUND'] })
  export(@Param('name', NamePipe) name: string, @Req() request: Request): Promise<StreamableFile> {
    return this.transfer.export(name, 'filter', request);
  }

  @Post('import')
  @ImportRoute({ summary: 'Create a filter from an export', answer: FilterView, codes: ['FILTER_NOT_FOUND'] })
  async import(
    @Req() request: Request,
    @Query(ShallowPipe) query: ImportQueryDto,
    @Mutation() operation: Operation,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: Reply,
  ): Promise<FilterView> {
    const { filter, stats } = await this.transfer.import('filter', request, query.name, operation, caller);
    return answerCreated(reply, '/v1/filters', { view: filterView(filter, stats), created: true });
  }
}
