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
      kept: 'there before, and kept',
      new: 'not there before, and added',
      forgotten: 'forgotten since the sync was opened, and not kept',
      invalid: `no ${kind === 'sets' ? 'URLs' : 'items'}, and left out`,
    },
    afterStop: 'They stay listed: do not commit before the rest is, too.',
    // The sync is over, or the set is gone.
    endsWith: (error) => error instanceof ConflictError || error instanceof NotFoundError,
  };
}
