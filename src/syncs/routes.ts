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

/** Errors for every route on an existing sync. `missing` is the error if the filter or visited set doesn't exist. */
function codesOf(missing: ErrorCode): readonly ErrorCode[] {
  return [missing, 'SYNC_NOT_FOUND', 'STORE_DATA_LOST'];
}

export function OpenSyncRoute(missing: ErrorCode): MethodDecorator {
  const refusals: readonly ErrorCode[] = ['SYNC_EXISTS', 'SYNC_UNSUPPORTED', 'FILTER_TOO_LARGE'];
  const codes = [missing, 'STORE_DATA_LOST', 'QUOTA_EXCEEDED', 'STORE_FULL', ...refusals] as const;
  return applyDecorators(
    MutatingRoute({
      access: 'admin',
      summary: 'Open a sync: keep the items that you list, and forget all others',
      codes,
    }),
    ApiBody({ type: OpenSyncDto, required: false }),
    ApiCreatedResponse({
      type: SyncView,
      description: 'A repeat with the same Idempotency-Key returns the same sync',
    }),
  );
}

export function GetSyncRoute(missing: ErrorCode): MethodDecorator {
  return applyDecorators(
    Documented({
      access: 'read',
      summary: 'Get a sync, in progress or finished',
      codes: codesOf(missing),
    }),
    ApiOkResponse({ type: SyncView }),
  );
}

export function CommitSyncRoute(missing: ErrorCode): MethodDecorator {
  return applyDecorators(
    MutatingRoute({
      access: 'admin',
      summary:
        'Commit a sync: keep items that were listed, added since the sync was opened, or queued when it was opened, and ' +
        'forget all others',
      codes: [...codesOf(missing), 'SYNC_ENDED', 'SYNC_WOULD_FORGET', 'STORE_FULL'],
    }),
    ApiBody({ type: CommitSyncDto, required: false }),
    ApiOkResponse({
      type: CommittedSyncView,
      description: 'The sync is committed. With `dryRun`: the sync, unchanged',
    }),
    ApiAcceptedResponse({
      type: CommittedSyncView,
      description: 'The commit is in progress. GET the sync to see when it has finished',
    }),
  );
}

export function AbandonSyncRoute(missing: ErrorCode): MethodDecorator {
  return applyDecorators(
    MutatingRoute({
      access: 'admin',
      summary: 'Abandon a sync: the filter forgets nothing',
      codes: [...codesOf(missing), 'SYNC_ENDED'],
    }),
    ApiNoContentResponse({ description: 'Abandoned; its memory has been freed' }),
  );
}

/** Errors for a route that accepts an input list's lines. */
export function lineCodes(missing: ErrorCode): readonly ErrorCode[] {
  return [missing, 'SYNC_NOT_FOUND', 'SYNC_ENDED', 'FILTER_FULL', 'STORE_FULL', 'QUOTA_EXCEEDED'];
}
