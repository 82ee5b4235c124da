import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Operation } from '#store';
import { Caller } from '../request/caller.js';
import type { Principal } from '../request/principal.js';
import { answerCreated } from '../http/created.js';
import type { Reply } from '../request/request.js';
import { Mutation } from '../idempotency/decorators.js';
import { CountersRoute, Documented, MutatingRoute } from '../openapi/decorators.js';
import { NamePipe } from '../validation/name.js';
import { ShallowPipe } from '../validation/shallow.pipe.js';
import { CreateFilterDto, ListQueryDto, PlanDto } from './filter.dto.js';
import { FilterListView, FilterView, PlanView } from './filter.view.js';
import { FiltersService } from './filters.service.js';
import { InspectionService } from './inspection.service.js';
import { CountersView } from './inspection.view.js';

@ApiTags('Filters')
@Controller('v1/filters')
export class FiltersController {
  constructor(
    private readonly filters: FiltersService,
    private readonly inspection: InspectionService,
  ) {}

  @Post()
  @MutatingRoute({
    access: 'admin',
    summary: 'Create a filter',
    codes: ['FILTER_NOT_FOUND', 'FILTER_EXISTS', 'FILTER_TOO_LARGE', 'QUOTA_EXCEEDED', 'STORE_FULL'],
  })
  @ApiCreatedResponse({ type: FilterView })
  @ApiOkResponse({ type: FilterView, description: 'The filter already exists with these parameters' })
  async create(
    @Body(ShallowPipe) body: CreateFilterDto,
    @Mutation() operation: Operation,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: Reply,
  ): Promise<FilterView> {
    return answerCreated(reply, '/v1/filters', await this.filters.create(body, operation, caller));
  }

  @Get()
  @Documented({ access: 'read', summary: 'List filters by name' })
  @ApiOkResponse({ type: FilterListView })
  list(@Query(ShallowPipe) query: ListQueryDto, @Caller() caller: Principal): Promise<FilterListView> {
    return this.filters.list(query, caller);
  }

  @Get(':name')
  @Documented({
    access: 'read',
    summary: 'Describe a filter',
    codes: ['FILTER_NOT_FOUND', 'STORE_DATA_LOST'],
  })
  @ApiOkResponse({ type: FilterView })
  get(@Param('name', NamePipe) name: string): Promise<FilterView> {
    return this.filters.get(name);
  }

  @Get(':name/counters')
  @CountersRoute('FILTER_NOT_FOUND')
  @ApiOkResponse({ type: CountersView })
  counters(@Param('name', NamePipe) name: string): Promise<CountersView> {
    return this.inspection.counters(name, 'filter');
  }

  @Delete(':name')
  @HttpCode(204)
  @MutatingRoute({ access: 'admin', summary: 'Delete a filter', codes: ['FILTER_NOT_FOUND'] })
  @ApiNoContentResponse({ description: 'Deleted; its memory has been freed' })
  drop(@Param('name', NamePipe) name: string, @Mutation() operation: Operation): Promise<void> {
    return this.filters.drop(name, operation);
  }

  @Post(':name/clear')
  @HttpCode(200)
  @MutatingRoute({ access: 'admin', summary: 'Empty a filter', codes: ['FILTER_NOT_FOUND', 'STORE_FULL'] })
  @ApiOkResponse({ type: FilterView, description: 'The filter, empty, with a new generation' })
  clear(@Param('name', NamePipe) name: string, @Mutation() operation: Operation): Promise<FilterView> {
    return this.filters.clear(name, operation);
  }
}

@ApiTags('Filters')
@Controller('v1/plan')
export class PlanController {
  constructor(private readonly filters: FiltersService) {}

  @Post()
  @HttpCode(200)
  @Documented({ access: 'read', summary: 'Compute the size of a filter without creating it' })
  @ApiOkResponse({ type: PlanView })
  plan(@Body(ShallowPipe) body: PlanDto): PlanView {
    return this.filters.plan(body);
  }
}
