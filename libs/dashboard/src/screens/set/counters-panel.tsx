import type { LayerCounters } from '#client';
import { useMemo } from 'preact/hooks';
import { share, whole } from '../../format.js';
import { usePoll } from '../../poll.js';
import { client } from '../../session.js';
import { handleOf, type Subject } from '../../sets.js';
import { Bar } from '../../ui/bar.js';
import { Button } from '../../ui/button.js';
import { DataTable } from '../../ui/data-table.js';
import { Pending } from '../../ui/notice.js';

/** Rarely, because each request samples different pages. The user can ask for another sample. */
const EVERY_MS = 600_000;

/** Shows how many counters have each value. */
export function CountersPanel({ kind, name }: Subject): preact.JSX.Element {
  const polled = usePoll<LayerCounters[]>(
    `counters of ${kind}/${name}`,
    (signal) => handleOf(client.value, kind, name).counters({ signal }),
    EVERY_MS,
  );
  const { data, refresh } = polled;
  return (
    <section class="panel" aria-labelledby="counters">
      <div class="head">
        <h2 id="counters">Counter values</h2>
        <Button look="quiet" onClick={refresh}>
          Sample again
        </Button>
      </div>
      <Pending of={polled} what="counters" />
      {data && <Histogram layers={data} />}
    </section>
  );
}

function Histogram({ layers }: { readonly layers: readonly LayerCounters[] }): preact.JSX.Element {
  const values = useMemo(() => {
    const length = Math.max(0, ...layers.map((layer) => layer.values.length));
    return Array.from({ length }, (_, value) =>
      layers.reduce((sum, layer) => sum + (layer.values[value] ?? 0), 0),
    );
  }, [layers]);
  const total = values.reduce((sum, count) => sum + count, 0);
  const most = Math.max(1, ...values);
  const last = values.findLastIndex((count) => count > 0);
  const [sampled, pages] = [
    layers.reduce((sum, layer) => sum + layer.sampledPages, 0),
    layers.reduce((sum, layer) => sum + layer.pages, 0),
  ];
  return (
    <>
      <DataTable
        caption="Counters by value"
        columns={[
          { id: 'value', title: 'Value', cell: ({ value }) => value },
          {
            id: 'amount',
            title: 'Counters',
            cell: ({ value, count }) => <Bar value={count} most={most} label={`Counters at ${value}`} />,
          },
          { id: 'count', title: 'Count', numeric: true, cell: ({ count }) => whole(count) },
          {
            id: 'share',
            title: 'Share',
            numeric: true,
            cell: ({ count }) => share(total === 0 ? 0 : count / total),
          },
        ]}
        rows={values.slice(0, last + 1).map((count, value) => ({ value, count }))}
        keyOf={({ value }) => value}
      />
      <p class="hint">
        In {whole(sampled)} of {whole(pages)} pages, chosen at random
        {last < values.length - 1 && '; no greater values'}.
      </p>
    </>
  );
}
