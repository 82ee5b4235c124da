import { Inject, Injectable, type PipeTransform } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { Config } from '../config.js';
import { must } from '../validation/must.js';
import { Optional } from '../validation/optional.js';
import { validateShallow } from '../validation/shallow.pipe.js';
import type { Batch } from './batch.js';
import { batchLimits, type BatchLimits } from './limits.js';
import { LineInput } from './line-input.js';
import { WellFormedBatch } from './well-formed-batch.js';

const BATCH = {
  type: String,
  isArray: true,
  description: 'At most 10,000 strings of at most 8 KiB (UTF-8), unless set otherwise',
} as const;

export class ItemsDto {
  @ApiProperty({ ...BATCH, example: ['alpha', 'beta'] })
  @WellFormedBatch('item')
  readonly items!: string[];

  constructor(readonly limits: BatchLimits) {}
}

export class UrlsDto {
  @ApiProperty({ ...BATCH, example: ['https://example.org/a?b=1', 'https://example.org/'] })
  @WellFormedBatch('url')
  readonly urls!: string[];

  constructor(readonly limits: BatchLimits) {}
}

export class StreamQueryDto {
  @Optional()
  @IsIn(['none'], must('be "none" or absent'))
  readonly results?: 'none';
}

/** `@Body(ItemsPipe) batch: Batch`: the checked items of a JSON body; a stream as it is. */
@Injectable()
export class ItemsPipe implements PipeTransform<unknown, Batch> {
  private readonly limits: BatchLimits;

  constructor(@Inject(Config) config: Config) {
    this.limits = batchLimits(config);
  }

  transform(body: unknown): Batch {
    return body instanceof LineInput ? body : validateShallow(ItemsDto, body, this.limits).items;
  }
}

/** The same for `{"urls": […]}`. */
@Injectable()
export class UrlsPipe implements PipeTransform<unknown, Batch> {
  private readonly limits: BatchLimits;

  constructor(@Inject(Config) config: Config) {
    this.limits = batchLimits(config);
  }

  transform(body: unknown): Batch {
    return body instanceof LineInput ? body : validateShallow(UrlsDto, body, this.limits).urls;
  }
}
