import { useEffect, useState } from 'preact/hooks';
import { plural } from '../../format.js';
import { useLeaving } from '../../leaving.js';
import { client } from '../../session.js';
import { entriesIn, handleOf, isLost, queueOf, type Described, type Subject } from '../../sets.js';

/** Shows how much data a clear or delete would lose right now, as a paragraph's text. */
export function WhatIsLost({ kind, name }: Subject): preact.JSX.Element {
  const [described, setDescribed] = useState<Described>();
  const leaving = useLeaving();
  useEffect(() => {
    const told = handleOf(client.value, kind, name).describe({ signal: leaving });
    // Ignores a failure, because the user can still clear or delete the set.
    void told.then(setDescribed, () => undefined);
  }, [kind, name, leaving]);
  if (!described || isLost(described)) return <>This deletes everything in it. You can’t undo this.</>;
  const queue = queueOf(described);
  const queued = queue ? entriesIn(queue) : 0;
  return (
    <>
      <strong>
        {plural(described.items, 'item')}
        {queue && ` and ${plural(queued, 'queue entry', 'queue entries')}`}
      </strong>{' '}
      will be lost for everyone who uses it
      {described.sync && ', and so will the sync in progress'}. You can’t undo this. Export it first to keep a
      copy.
    </>
  );
}
