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

const BATCH = { type: String, isArray: true } as const;

export class ItemsDto {
  @ApiProperty({
    ...BATCH,
    description: 'At most 10,000 strings of at most 8 KiB (UTF-8), unless set otherwise',
    example: ['alpha', 'beta'],
  })
  @WellFormedBatch('item')
  readonly items!: string[];

  constructor(readonly limits: BatchLimits) {}
}

export class UrlsDto {
  @ApiProperty({
    ...BATCH,
    description: 'At most 10,000 strings; one of more than 8 KiB (UTF-8) is invalid, unless set otherwise',
    example: ['https://example.org/a?b=1', 'https://example.org/'],
  })
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
export class ItemsPipe implements PipeTransform<unknown, ItemBatch | Promise<ItemBatch>> {
  private readonly limits: BatchLimits;

  constructor(@Inject(Config) config: Config) {
    this.limits = batchLimits(config);
  }

  transform(body: unknown): ItemBatch | Promise<ItemBatch> {
    if (body instanceof LineInput) return body;
    if (!(body instanceof PackedItems)) return this.items(body);
    // A body beyond a limit is parsed after all, so that the error can name what is wrong.
    return body.isWithin(this.limits) ? body.keys : body.parse().then((parsed) => this.items(parsed));
  }

  private items(body: unknown): readonly string[] {
    return validateShallow(ItemsDto, body, this.limits).items;
  }
}

/** The same for `{"urls": […]}`. */
@Injectable()
export class UrlsPipe implements PipeTransform<unknown, UrlBatch | Promise<UrlBatch>> {
  private readonly limits: BatchLimits;

  constructor(@Inject(Config) config: Config) {
    this.limits = batchLimits(config);
  }

  transform(body: unknown): UrlBatch | Promise<UrlBatch> {
    if (body instanceof LineInput) return body;
    // It has `items` where `urls` belong.
    return body instanceof PackedItems ? body.parse().then((parsed) => this.urls(parsed)) : this.urls(body);
  }

  private urls(body: unknown): readonly string[] {
    return validateShallow(UrlsDto, body, this.limits).urls;
  }
}
