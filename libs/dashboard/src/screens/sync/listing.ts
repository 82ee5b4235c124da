import { ConflictError, NotFoundError } from '#client';
import { ofItems, type Action } from '../../jobs/action.js';
import { handleOf, type Kind } from '../../sets.js';

/** Lists lines in a sync. */
export function listingIn(kind: Kind, sync: string): Action {
  return {
    id: 'list',
    text: 'List',
    needs: 'write',
    verb: (client, name) => ofItems(handleOf(client, kind, name).syncs.get(sync).keep),
    meanings: {
      kept: 'already there, and kept',
      new: 'new, and added',
      forgotten: 'forgotten since the sync was opened, and not kept',
      invalid: `not ${kind === 'sets' ? 'URLs' : 'items'}, and skipped`,
    },
    afterStop: 'They stay listed. Do not commit until the rest is also listed.',
    // The error if the sync has ended or the set is gone.
    endsWith: (error) => error instanceof ConflictError || error instanceof NotFoundError,
  };
}
