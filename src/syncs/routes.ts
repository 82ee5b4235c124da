import { applyDecorators } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBody,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
} from '@nestjs/swagger';
import type { ErrorCode } from '../errors/error-codes.js';
import { SyncView } from '../filters/sync.view.js';
import { Documented, MutatingRoute } from '../openapi/decorators.js';
import { CommitSyncDto, OpenSyncDto } from './sync.dto.js';
import { CommittedSyncView } from './sync.view.js';

/** Errors of every route about a sync that there is, for a filter or a visited set. */
function codesOf(missing: ErrorCode): readonly ErrorCode[] {
  return [missing, 'SYNC_NOT_FOUND', 'STORE_DATA_LOST'];
}

export function OpenSyncRoute(missing: ErrorCode): MethodDecorator {
  const refusals: readonly ErrorCode[] = ['SYNC_EXISTS', 'SYNC_UNSUPPORTED', 'FILTER_TOO_LARGE'];
  const codes = [missing, 'STORE_DATA_LOST', 'QUOTA_EXCEEDED', 'STORE_FULL', ...refusals] as const;
  return applyDecorators(
    MutatingRoute({ access: 'admin', summary: 'Open a sync, to keep exactly what is on a list', codes }),
    ApiBody({ type: OpenSyncDto, required: false }),
    ApiCreatedResponse({ type: SyncView, description: 'A repeat under the same key answers the same sync' }),
  );
}

export function GetSyncRoute(missing: ErrorCode): MethodDecorator {
  return applyDecorators(
    Documented({
      access: 'read',
      summary: 'Describe a sync, in progress or over',
      codes: codesOf(missing),
    }),
    ApiOkResponse({ type: SyncView }),
  );
}

export function CommitSyncRoute(missing: ErrorCode): MethodDecorator {
  return applyDecorators(
    MutatingRoute({
      access: 'admin',
      summary: 'Forget what was neither listed nor added, nor is in the queue, since the sync was opened',
      codes: [...codesOf(missing), 'SYNC_ENDED', 'SYNC_WOULD_FORGET', 'STORE_FULL'],
    }),
    ApiBody({ type: CommitSyncDto, required: false }),
    ApiOkResponse({ type: CommittedSyncView, description: 'It is committed; with dryRun: as it is' }),
    ApiAcceptedResponse({
      type: CommittedSyncView,
      description: 'It goes on; GET tells when it is committed',
    }),
  );
}

export function AbandonSyncRoute(missing: ErrorCode): MethodDecorator {
  return applyDecorators(
    MutatingRoute({
      access: 'admin',
      summary: 'Give a sync up: nothing is forgotten',
      codes: [...codesOf(missing), 'SYNC_ENDED'],
    }),
    ApiNoContentResponse({ description: 'Given up, and its memory is free' }),
  );
}

/** Errors of a route that takes the lines of a list. */
export function lineCodes(missing: ErrorCode): readonly ErrorCode[] {
  return [missing, 'SYNC_NOT_FOUND', 'SYNC_ENDED', 'FILTER_FULL', 'STORE_FULL', 'QUOTA_EXCEEDED'];
}
