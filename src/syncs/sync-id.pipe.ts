import { Injectable, type PipeTransform } from '@nestjs/common';
import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';

const SYNC_ID = /^[0-9a-f]{16}$/;

/** `@Param('id', SyncIdPipe) id: string`. An invalid id gets the error for a sync that doesn't exist. */
@Injectable()
export class SyncIdPipe implements PipeTransform<string, string> {
  transform(id: string): string {
    if (SYNC_ID.test(id)) return id;
    throw new ProblemError(
      'SYNC_NOT_FOUND',
      `sync ${show(id)} does not exist; GET the filter or visited set to see its sync`,
    );
  }
}
