import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { BatchAnswers } from '../batches/batch-answers.js';
import { UrlsDto, UrlsPipe } from '../batches/batch.dto.js';
import type { UrlBatch, StreamAnswer } from '../batches/batch.js';
import { Answer } from '../batches/stream-query.js';
import { Mutation, Reading } from '../idempotency/decorators.js';
import { ReadDeadline, RequestOperation } from '../idempotency/operations.js';
import { BatchRoute } from '../openapi/decorators.js';
import { NamePipe } from '../validation/name.js';
import { UrlsService } from './urls.service.js';
import { CheckedView, ForgottenView, MarkedView } from './visited-set.view.js';

@ApiTags('URLs')
@Controller('v1/visited-sets/:name/urls')
export class UrlsController {
  constructor(
    private readonly urls: UrlsService,
    private readonly answers: BatchAnswers,
  ) {}

  @Post('discover')
  @HttpCode(200)
  @BatchRoute({
    access: 'write',
    summary: 'Mark URLs visited and queue the new ones, in one atomic step',
    mutates: true,
    body: UrlsDto,
    answer: MarkedView,
    codes: ['VISITED_SET_NOT_FOUND', 'FILTER_FULL', 'STORE_FULL'],
  })
  discover(
    @Param('name', NamePipe) name: string,
    @Body(UrlsPipe) batch: UrlBatch,
    @Mutation() operation: RequestOperation,
    @Answer() answer: StreamAnswer,
  ): Promise<object> {
    return this.answers.answer(batch, operation, this.urls.discover(name), answer);
  }

  @Post('visit')
  @HttpCode(200)
  @BatchRoute({
    access: 'write',
    summary: 'Mark URLs visited without queueing them',
    mutates: true,
    body: UrlsDto,
    answer: MarkedView,
    codes: ['VISITED_SET_NOT_FOUND', 'FILTER_FULL', 'STORE_FULL'],
  })
  visit(
    @Param('name', NamePipe) name: string,
    @Body(UrlsPipe) batch: UrlBatch,
    @Mutation() operation: RequestOperation,
    @Answer() answer: StreamAnswer,
  ): Promise<object> {
    return this.answers.answer(batch, operation, this.urls.visit(name), answer);
  }

  @Post('check')
  @HttpCode(200)
  @BatchRoute({
    access: 'read',
    summary: 'Check URLs: seen = probably, unseen = surely',
    mutates: false,
    body: UrlsDto,
    answer: CheckedView,
    codes: ['VISITED_SET_NOT_FOUND'],
  })
  check(
    @Param('name', NamePipe) name: string,
    @Body(UrlsPipe) batch: UrlBatch,
    @Reading() deadline: ReadDeadline,
    @Answer() answer: StreamAnswer,
  ): Promise<object> {
    return this.answers.answer(batch, deadline, this.urls.check(name), answer);
  }

  @Post('forget')
  @HttpCode(200)
  @BatchRoute({
    access: 'write',
    summary: 'Forget URLs, so that they may be collected again; they leave the queue, too',
    mutates: true,
    body: UrlsDto,
    answer: ForgottenView,
    codes: ['VISITED_SET_NOT_FOUND', 'STORE_FULL'],
  })
  forget(
    @Param('name', NamePipe) name: string,
    @Body(UrlsPipe) batch: UrlBatch,
    @Mutation() operation: RequestOperation,
    @Answer() answer: StreamAnswer,
  ): Promise<object> {
    return this.answers.answer(batch, operation, this.urls.forget(name), answer);
  }
}
