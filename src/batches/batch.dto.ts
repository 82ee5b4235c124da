import { Inject, Injectable, type PipeTransform } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { Config } from '../config.js';
import { must } from '../validation/must.js';
import { Optional } from '../validation/optional.js';
import { validateShallow } from '../validation/shallow.pipe.js';
import type { ItemBatch, UrlBatch } from './batch.js';
import { batchLimits, type BatchLimits } from './limits.js';
import { LineInput } from './line-input.js';
import { PackedItems } from './packed-items.js';
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

/** `@Body(ItemsPipe) batch: ItemBatch`: the checked items of a JSON body; a stream as it is. */
@Injectable()
export class ItemsPipe implements PipeTransform<unknown, ItemBatch> {
  private readonly limits: BatchLimits;

  constructor(@Inject(Config) config: Config) {
    this.limits = batchLimits(config);
  }

  transform(body: unknown): ItemBatch {
    if (body instanceof LineInput) return body;
    // What is beyond a limit is parsed after all: the error is to say what it is.
    if (body instanceof PackedItems && body.isWithin(this.limits)) return body.keys;
    return validateShallow(ItemsDto, parsed(body), this.limits).items;
  }
}

/** The same for `{"urls": […]}`. */
@Injectable()
export class UrlsPipe implements PipeTransform<unknown, UrlBatch> {
  private readonly limits: BatchLimits;

  constructor(@Inject(Config) config: Config) {
    this.limits = batchLimits(config);
  }

  transform(body: unknown): UrlBatch {
    return body instanceof LineInput ? body : validateShallow(UrlsDto, parsed(body), this.limits).urls;
  }
}

function parsed(body: unknown): unknown {
  return body instanceof PackedItems ? body.parse() : body;
}
