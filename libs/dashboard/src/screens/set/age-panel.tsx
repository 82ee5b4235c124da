import type { Age } from '#client';
import { duration, time, whole } from '../../format.js';
import { Bar } from '../../ui/bar.js';
import { DataTable } from '../../ui/data-table.js';

/** Shows when a set that ages will forget its URLs. */
export function AgePanel({ age }: { readonly age: Age }): preact.JSX.Element {
  const { expiring, epochSeconds, hidden } = age;
  const most = Math.max(1, ...expiring.map(({ items }) => items));
  return (
    <section class="panel" aria-labelledby="age">
      <div class="head">
        <h2 id="age">Expiry</h2>
        <span class="summary">in steps of {duration(epochSeconds)}</span>
      </div>
      <DataTable
        caption="URLs by expiry time"
        columns={[
          { id: 'at', title: 'Until', cell: ({ at }) => time(at) },
          {
            id: 'items',
            title: 'URLs',
            numeric: true,
            cell: ({ items, at }) => (
              <>
                {whole(items)}
                <Bar value={items} most={most} label={`URLs until ${time(at)}`} />
              </>
            ),
          },
        ]}
        rows={expiring}
        keyOf={({ at }) => at}
      />
      {hidden > 0 && (
        <p class="hint">
          {whole(hidden)} more {hidden === 1 ? 'was' : 'were'} forgotten, but other URLs keep all their
          counters above zero. The set keeps an exact list of them until they expire.
        </p>
      )}
    </section>
  );
}
