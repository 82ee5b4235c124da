import type { SyncDescription } from '#client';
import { bytes, plural, share, time, whole } from '../../format.js';
import { Bar } from '../../ui/bar.js';
import { Facts } from '../../ui/facts.js';

/** The sync in progress. */
export function SyncPanel({
  sync,
  items,
}: {
  readonly sync: SyncDescription;
  readonly items: number;
}): preact.JSX.Element {
  const { state, listed, wouldForget, openedAt, memoryBytes, capacity, errorRate } = sync;
  // Not the number of listed lines: lines may repeat, and URLs that are visited or queued during the sync stay too.
  const stay = Math.max(0, items - wouldForget);
  return (
    <section class="panel" aria-labelledby="sync">
      <div class="head">
        <h2 id="sync">Sync</h2>
        <span class="summary">
          {state === 'committing' ? 'committing, can’t be cancelled' : `open since ${time(openedAt)}`}
        </span>
      </div>
      {state === 'committing' ? (
        <progress class="bar info" aria-label="Commit in progress" />
      ) : (
        <Bar value={stay} most={items} tone="info" label="Items that would stay" />
      )}
      <Facts
        facts={[
          ['Listed', plural(listed, 'line')],
          [state === 'committing' ? 'Stay' : 'Would stay', `${whole(stay)} of ${plural(items, 'item')}`],
          ['New on the list', whole(sync.new)],
          [state === 'committing' ? 'Forgets' : 'Would forget', whole(wouldForget)],
          ['Memory during the sync', bytes(memoryBytes)],
          ['New capacity', whole(capacity)],
          ['New error rate', share(errorRate)],
          ['Id', <code key="id">{sync.id}</code>],
        ]}
      />
    </section>
  );
}
