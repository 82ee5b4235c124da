import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Operation } from '#store';
import { Caller } from '../request/caller.js';
import type { Principal } from '../request/principal.js';
import { ListQueryDto } from '../filters/filter.dto.js';
import { InspectionService } from '../filters/inspection.service.js';
import { CountersView } from '../filters/inspection.view.js';
import { answerCreated } from '../http/created.js';
import type { Reply } from '../request/request.js';
import { Mutation } from '../idempotency/decorators.js';
import { CountersRoute, Documented, MutatingRoute } from '../openapi/decorators.js';
import { NamePipe } from '../validation/name.js';
import { ShallowPipe } from '../validation/shallow.pipe.js';
import { CreateVisitedSetDto } from './visited-set.dto.js';
import { VisitedSetListView, VisitedSetView } from './visited-set.view.js';
import { VisitedSetsService } from './visited-sets.service.js';

@ApiTags('Visited sets')
@Controller('v1/visited-sets')
export class VisitedSetsController {
  constructor(
    private readonly visitedSets: VisitedSetsService,
    private readonly inspection: InspectionService,
  ) {}

  @Post()
  @MutatingRoute({
    access: 'admin',
    summary: 'Create a visited set',
    codes: ['VISITED_SET_NOT_FOUND', 'FILTER_EXISTS', 'FILTER_TOO_LARGE', 'QUOTA_EXCEEDED', 'STORE_FULL'],
  })
  @ApiCreatedResponse({ type: VisitedSetView })
  @ApiOkResponse({
    type: VisitedSetView,
    description: 'The visited set already exists with these parameters',
  })
  async create(
    @Body(ShallowPipe) body: CreateVisitedSetDto,
    @Mutation() operation: Operation,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: Reply,
  ): Promise<VisitedSetView> {
    return answerCreated(reply, '/v1/visited-sets', await this.visitedSets.create(body, operation, caller));
  }

  @Get()
  @Documented({ access: 'read', summary: 'List visited sets by name' })
  @ApiOkResponse({ type: VisitedSetListView })
  list(@Query(ShallowPipe) query: ListQueryDto, @Caller() caller: Principal): Promise<VisitedSetListView> {
    return this.visitedSets.list(query, caller);
  }

  @Get(':name')
  @Documented({
    access: 'read',
    summary: 'Describe a visited set',
    codes: ['VISITED_SET_NOT_FOUND', 'STORE_DATA_LOST'],
  })
  @ApiOkResponse({ type: VisitedSetView })
  get(@Param('name', NamePipe) name: string): Promise<VisitedSetView> {
    return this.visitedSets.get(name);
  }

  @Get(':name/counters')
  @CountersRoute('VISITED_SET_NOT_FOUND')
  @ApiOkResponse({ type: CountersView })
  counters(@Param('name', NamePipe) name: string): Promise<CountersView> {
    return this.inspection.counters(name, 'visited-set');
  }

  @Delete(':name')
  @HttpCode(204)
  @MutatingRoute({
    access: 'admin',
    summary: 'Delete a visited set and its queue',
    codes: ['VISITED_SET_NOT_FOUND'],
  })
  @ApiNoContentResponse({ description: 'Deleted; its memory has been freed' })
  drop(@Param('name', NamePipe) name: string, @Mutation() operation: Operation): Promise<void> {
    return this.visitedSets.drop(name, operation);
  }

  @Post(':name/clear')
  @HttpCode(200)
  @MutatingRoute({
    access: 'admin',
    summary: 'Empty a visited set and its queue',
    description:
      "In a set with `perHost`, this also removes each host's delays, counts, limits and blocks. To keep limits " +
      'and blocks, list the hosts first, then set them again.',
    codes: ['VISITED_SET_NOT_FOUND', 'STORE_FULL'],
  })
  @ApiOkResponse({ type: VisitedSetView, description: 'The visited set, empty, with a new generation' })
  clear(@Param('name', NamePipe) name: string, @Mutation() operation: Operation): Promise<VisitedSetView> {
    return this.visitedSets.clear(name, operation);
  }
}
