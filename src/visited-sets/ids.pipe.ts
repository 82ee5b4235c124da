import { Inject, Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { batchLimits, jsonBatch, type BatchLimits } from '../batches/entries.js';
import { Config } from '../config/config.js';
import { ShallowPipe } from '../validation/shallow.pipe.js';

/** `@Body(IdsPipe) body: SomeDto`: a DTO with a member `ids`, of at most as many ids as a batch may have. */
@Injectable()
export class IdsPipe implements PipeTransform<unknown, object> {
  private readonly limits: BatchLimits;
  private readonly members = new ShallowPipe();

  constructor(@Inject(Config) config: Config) {
    this.limits = batchLimits(config);
  }

  transform(body: unknown, metadata: ArgumentMetadata): object {
    const dto = this.members.transform(body, metadata) as { ids?: unknown };
    jsonBatch({ ids: dto.ids }, 'ids', this.limits);
    return dto;
  }
}
