import type { UnseenClient, UrlWithPayload } from '#client';
import type { Scope } from '../../session.js';
import type { Kind } from '../../sets.js';
import { sending, type Send } from './sending.js';

export type ActionId = 'check' | 'visit' | 'discover' | 'add' | 'forget' | 'remove';

/** What can be done with a list of lines. */
export interface Action {
  readonly id: ActionId;
  readonly text: string;
  /** What is said of a line that it was done with. */
  readonly hint: string;
  readonly needs: Scope;
  /** Takes out, of which G8 has to be said. */
  readonly takesOut: boolean;
  readonly send: (client: UnseenClient, name: string) => Send;
}

const READS = { needs: 'read', takesOut: false } as const;
const WRITES = { needs: 'write', takesOut: false } as const;
const TAKES_OUT = { needs: 'write', takesOut: true } as const;

const ACTIONS: Readonly<Record<Kind, readonly Action[]>> = {
  sets: [
    {
      ...READS,
      id: 'check',
      text: 'Check',
      hint: 'Says which URLs have been seen. It changes nothing.',
      send: (client, name) => sending(client.visitedSet(name).check, urlOf),
    },
    {
      ...WRITES,
      id: 'visit',
      text: 'Visit',
      hint: 'Marks URLs as seen. They are not queued.',
      send: (client, name) => sending(client.visitedSet(name).visit, urlOf),
    },
    {
      ...WRITES,
      id: 'discover',
      text: 'Discover',
      hint: 'Marks URLs as seen, and puts those that are new into the queue. Lines of JSON may bring payloads.',
      send: (client, name) => sending(client.visitedSet(name).discover, (line) => line),
    },
    {
      ...TAKES_OUT,
      id: 'forget',
      text: 'Forget',
      hint: 'Makes URLs unseen, and takes them out of the queue.',
      send: (client, name) => sending(client.visitedSet(name).forget, urlOf),
    },
  ],
  filters: [
    {
      ...READS,
      id: 'check',
      text: 'Check',
      hint: 'Says which items have been seen. It changes nothing.',
      send: (client, name) =>
        sending(client.filter(name).has, urlOf, (isThere) => (isThere ? 'seen' : 'unseen')),
    },
    {
      ...WRITES,
      id: 'add',
      text: 'Add',
      hint: 'Adds items, and says which of them are new.',
      send: (client, name) => sending(client.filter(name).add, urlOf, (isNew) => (isNew ? 'new' : 'seen')),
    },
    {
      ...TAKES_OUT,
      id: 'remove',
      text: 'Remove',
      hint: 'Takes items out.',
      send: (client, name) => sending(client.filter(name).remove, urlOf),
    },
  ],
};

/** What whoever may do `may` can do with one of this kind. A standard filter cannot forget. */
export function actionsOf(kind: Kind, counting: boolean, may: (scope: Scope) => boolean): readonly Action[] {
  return ACTIONS[kind].filter(({ needs, takesOut }) => may(needs) && (counting || !takesOut));
}

/** The item that a line stands for. */
export function urlOf(line: string | UrlWithPayload): string {
  return typeof line === 'string' ? line : line.url;
}
