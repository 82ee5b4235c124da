import { ofItems, type Action } from '../../jobs/action.js';
import type { Scope } from '../../session.js';
import type { Kind } from '../../sets.js';

/** An action that the user can choose. */
export interface UseAction extends Action {
  readonly id: 'check' | 'visit' | 'discover' | 'add' | 'forget' | 'remove';
  readonly hint: string;
  /** Removes items, so the page must show G8's caveat. */
  readonly takesOut: boolean;
}

const READS = { needs: 'read', takesOut: false } as const;
const WRITES = { needs: 'write', takesOut: false } as const;
const TAKES_OUT = { needs: 'write', takesOut: true } as const;

const ACTIONS: Readonly<Record<Kind, readonly UseAction[]>> = {
  sets: [
    {
      ...READS,
      id: 'check',
      text: 'Check',
      hint: 'Shows which URLs have been seen. Changes nothing.',
      verb: (client, name) => ofItems(client.visitedSet(name).check),
    },
    {
      ...WRITES,
      id: 'visit',
      text: 'Visit',
      hint: 'Records URLs as visited, without queueing them.',
      verb: (client, name) => ofItems(client.visitedSet(name).visit),
    },
    {
      ...WRITES,
      id: 'discover',
      text: 'Discover',
      hint: 'Records URLs as visited, and queues the new ones. Lines of JSON may include payloads.',
      verb: (client, name) => client.visitedSet(name).discover,
    },
    {
      ...TAKES_OUT,
      id: 'forget',
      text: 'Forget',
      hint: 'Forgets URLs, and removes them from the queue.',
      verb: (client, name) => ofItems(client.visitedSet(name).forget),
    },
  ],
  filters: [
    {
      ...READS,
      id: 'check',
      text: 'Check',
      hint: 'Shows which items have been seen. Changes nothing.',
      verb: (client, name) => ofItems(client.filter(name).has),
      words: { true: 'seen', false: 'unseen' },
    },
    {
      ...WRITES,
      id: 'add',
      text: 'Add',
      hint: 'Adds items, and shows which of them are new.',
      verb: (client, name) => ofItems(client.filter(name).add),
      words: { true: 'new', false: 'seen' },
    },
    {
      ...TAKES_OUT,
      id: 'remove',
      text: 'Remove',
      hint: 'Removes items.',
      verb: (client, name) => ofItems(client.filter(name).remove),
    },
  ],
};

/** The actions on this kind that `may` allows. A standard filter can't forget items. */
export function actionsOf(
  kind: Kind,
  counting: boolean,
  may: (scope: Scope) => boolean,
): readonly UseAction[] {
  return ACTIONS[kind].filter(({ needs, takesOut }) => may(needs) && (counting || !takesOut));
}
