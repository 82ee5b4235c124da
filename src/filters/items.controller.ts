import { Body, Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Keys } from '#bloom';
import type { Operation } from '#store';
import { AdditionsDto, ItemsDto } from '../batches/batch.dto.js';
import { flagOptionIn } from '../batches/batch-options.js';
import { BatchRunner } from '../batches/batch-runner.js';
import { FewEntriesPipe } from '../batches/few-entries.pipe.js';
import { DirectBatchRoute, ExplainRoute } from '../openapi/decorators.js';
import type { Request } from '../request/request.js';
import { NamePipe } from '../validation/name.js';
import { ExplainItemsDto } from './inspection.dto.js';
import { InspectionService } from './inspection.service.js';
import { ExplainedItemsView } from './inspection.view.js';
import { ItemsService } from './items.service.js';
import { BooleansView, CountsView, RemovalsView } from './items.view.js';

@ApiTags('Items')
@Controller('v1/filters/:name/items')
export class ItemsController {
  constructor(
    private readonly batches: BatchRunner,
    private readonly items: ItemsService,
    private readonly inspection: InspectionService,
  ) {}

  @Post('add')
  @HttpCode(200)
  @DirectBatchRoute({
    verb: 'add',
    entries: 'items',
    options: ['onlyAbsent'],
    access: 'write',
    summary: 'Add items: `true` if the item was new',
    mutates: true,
    body: AdditionsDto,
    answer: BooleansView,
    codes: ['FILTER_NOT_FOUND', 'FILTER_FULL', 'STORE_FULL', 'QUOTA_EXCEEDED'],
  })
  add(@Param('name', NamePipe) name: string, @Req() request: Request): Promise<object> {
    const onlyAbsent = flagOptionIn(request, 'onlyAbsent');
    return this.batches.mutate(
      request,
      (items: Keys, operation: Operation) => this.items.add(name, items, operation, { onlyAbsent }),
      () => this.items.open(name),
    );
  }

  @Post('check')
  @HttpCode(200)
  @DirectBatchRoute({
    verb: 'check',
    entries: 'items',
    access: 'read',
    summary: 'Check items: `true` is probably present, `false` is certainly absent',
    mutates: false,
    body: ItemsDto,
    answer: BooleansView,
    codes: ['FILTER_NOT_FOUND'],
  })
  check(@Param('name', NamePipe) name: string, @Req() request: Request): Promise<object> {
    return this.batches.read(
      request,
      (items: Keys, deadline) => this.items.check(name, items, deadline),
      () => this.items.open(name),
    );
  }

  @Post('remove')
  @HttpCode(200)
  @DirectBatchRoute({
    verb: 'remove',
    entries: 'items',
    access: 'write',
    summary: 'Remove items (counting filters only)',
    mutates: true,
    body: ItemsDto,
    answer: RemovalsView,
    codes: ['FILTER_NOT_FOUND', 'REMOVAL_UNSUPPORTED', 'STORE_FULL'],
  })
  remove(@Param('name', NamePipe) name: string, @Req() request: Request): Promise<object> {
    return this.batches.mutate(
      request,
      (items: Keys, operation: Operation) => this.items.remove(name, items, operation),
      () => this.items.openCounting(name),
    );
  }

  @Post('count')
  @HttpCode(200)
  @DirectBatchRoute({
    verb: 'count',
    entries: 'items',
    access: 'read',
    summary: 'Estimate how many times items were added (counting filters only). 15 stands for 15 or more',
    mutates: false,
    body: ItemsDto,
    answer: CountsView,
    codes: ['FILTER_NOT_FOUND', 'REMOVAL_UNSUPPORTED'],
  })
  count(@Param('name', NamePipe) name: string, @Req() request: Request): Promise<object> {
    return this.batches.read(
      request,
      (items: Keys, deadline) => this.items.count(name, items, deadline),
      () => this.items.openCounting(name),
    );
  }

  @Post('explain')
  @HttpCode(200)
  @ExplainRoute({
    summary: 'Explain the answers for a few items, with their counters',
    codes: ['FILTER_NOT_FOUND'],
  })
  @ApiBody({ type: ExplainItemsDto })
  @ApiOkResponse({ type: ExplainedItemsView })
  explain(
    @Param('name', NamePipe) name: string,
    @Body(FewEntriesPipe('items')) items: readonly string[],
  ): Promise<ExplainedItemsView> {
    return this.inspection.explainItems(name, items);
  }
}
