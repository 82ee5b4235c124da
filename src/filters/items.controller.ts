import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { BatchAnswers } from '../batches/batch-answers.js';
import { ItemsDto, ItemsPipe } from '../batches/batch.dto.js';
import type { ItemBatch, StreamAnswer } from '../batches/batch.js';
import { Answer } from '../batches/stream-query.js';
import { Mutation, Reading } from '../idempotency/decorators.js';
import { ReadDeadline, RequestOperation } from '../idempotency/operations.js';
import { BatchRoute } from '../openapi/decorators.js';
import { NamePipe } from '../validation/name.js';
import { ItemsService } from './items.service.js';
import { BooleansView, CountsView, RemovalsView } from './items.view.js';

@ApiTags('Items')
@Controller('v1/filters/:name/items')
export class ItemsController {
  constructor(
    private readonly items: ItemsService,
    private readonly answers: BatchAnswers,
  ) {}

  @Post('add')
  @HttpCode(200)
  @BatchRoute({
    access: 'write',
    summary: 'Add items: true = was new',
    mutates: true,
    body: ItemsDto,
    answer: BooleansView,
    codes: ['FILTER_NOT_FOUND', 'FILTER_FULL', 'STORE_FULL'],
  })
  add(
    @Param('name', NamePipe) name: string,
    @Body(ItemsPipe) batch: ItemBatch,
    @Mutation() operation: RequestOperation,
    @Answer() answer: StreamAnswer,
  ): Promise<object> {
    return this.answers.answer(batch, operation, this.items.add(name), answer);
  }

  @Post('check')
  @HttpCode(200)
  @BatchRoute({
    access: 'read',
    summary: 'Check items: true = probably present, false = surely absent',
    mutates: false,
    body: ItemsDto,
    answer: BooleansView,
    codes: ['FILTER_NOT_FOUND'],
  })
  check(
    @Param('name', NamePipe) name: string,
    @Body(ItemsPipe) batch: ItemBatch,
    @Reading() deadline: ReadDeadline,
    @Answer() answer: StreamAnswer,
  ): Promise<object> {
    return this.answers.answer(batch, deadline, this.items.check(name), answer);
  }

  @Post('remove')
  @HttpCode(200)
  @BatchRoute({
    access: 'write',
    summary: 'Remove items (counting filters)',
    mutates: true,
    body: ItemsDto,
    answer: RemovalsView,
    codes: ['FILTER_NOT_FOUND', 'REMOVAL_UNSUPPORTED', 'STORE_FULL'],
  })
  remove(
    @Param('name', NamePipe) name: string,
    @Body(ItemsPipe) batch: ItemBatch,
    @Mutation() operation: RequestOperation,
    @Answer() answer: StreamAnswer,
  ): Promise<object> {
    return this.answers.answer(batch, operation, this.items.remove(name), answer);
  }

  @Post('count')
  @HttpCode(200)
  @BatchRoute({
    access: 'read',
    summary: 'Estimate how often items were added (counting filters); 15 = 15 or more',
    mutates: false,
    body: ItemsDto,
    answer: CountsView,
    codes: ['FILTER_NOT_FOUND', 'REMOVAL_UNSUPPORTED'],
  })
  count(
    @Param('name', NamePipe) name: string,
    @Body(ItemsPipe) batch: ItemBatch,
    @Reading() deadline: ReadDeadline,
    @Answer() answer: StreamAnswer,
  ): Promise<object> {
    return this.answers.answer(batch, deadline, this.items.count(name), answer);
  }
}
