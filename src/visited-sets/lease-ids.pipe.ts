import { Inject, Injectable, type PipeTransform } from '@nestjs/common';
import { jsonBatch } from '../batches/entries.js';
import { batchLimits, type BatchLimits } from '../batches/entries.js';
import { Config } from '../config/config.js';

/** `@Body(LeaseIdsPipe) ids: readonly string[]` gives the ids of `{"ids": […]}`. */
@Injectable()
export class LeaseIdsPipe implements PipeTransform<unknown, readonly string[]> {
  private readonly limits: BatchLimits;

  constructor(@Inject(Config) config: Config) {
    this.limits = batchLimits(config);
  }

  transform(body: unknown): readonly string[] {
    return jsonBatch(body, 'ids', this.limits);
  }
}
