import { useEffect, useState } from 'preact/hooks';
import { plural } from '../../format.js';
import { useLeaving } from '../../leaving.js';
import { client } from '../../session.js';
import { handleOf, isLost, queueOf, type Described, type Subject } from '../../sets.js';

/** What is gone once a set is cleared or deleted, as it stands now. A part of a sentence's paragraph. */
export function WhatIsLost({ kind, name }: Subject): preact.JSX.Element {
  const [described, setDescribed] = useState<Described>();
  const leaving = useLeaving();
  useEffect(() => {
    const told = handleOf(client.value, kind, name).describe({ signal: leaving });
    // A set that cannot be described can be cleared and deleted.
    void told.then(setDescribed, () => undefined);
  }, [kind, name, leaving]);
  if (!described || isLost(described)) return <>Everything in it is lost. There is no way back.</>;
  const queue = queueOf(described);
  const queued = queue ? queue.waiting + queue.leased + queue.delayed + queue.dead : 0;
  return (
    <>
      <strong>
        {plural(described.items, 'item')}
        {queue && ` and ${plural(queued, 'queue entry', 'queue entries')}`}
      </strong>{' '}
      are lost, for everyone who uses it
      {described.sync && ', and the sync that is under way'}. There is no way back; an export can be kept
      before.
    </>
  );
}
