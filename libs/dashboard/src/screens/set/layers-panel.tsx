import { bytes, share, whole } from '../../format.js';
import type { Whole } from '../../sets.js';
import { Bar } from '../../ui/bar.js';
import { DataTable } from '../../ui/data-table.js';

/** The layers of a set or filter. */
export function LayersPanel({ described }: { readonly described: Whole }): preact.JSX.Element {
  const { layers, growth } = described;
  return (
    <section class="panel" aria-labelledby="layers">
      <div class="head">
        <h2 id="layers">Layers</h2>
        <span class="summary">
          {growth === 'auto' ? 'a new layer opens when the last is full' : 'one layer, which does not grow'}
        </span>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of the layers">
        <DataTable
          caption="Layers"
          columns={[
            { id: 'layer', title: 'Layer', cell: ({ at }) => at },
            {
              id: 'items',
              title: 'Items vs. capacity',
              numeric: true,
              cell: ({ layer, at }) => (
                <>
                  {whole(layer.items)} of {whole(layer.capacity)}
                  <Bar value={layer.items} most={layer.capacity} label={`Items of layer ${at}`} />
                </>
              ),
            },
            { id: 'fill', title: 'Counters in use', numeric: true, cell: ({ layer }) => share(layer.fill) },
            {
              id: 'errors',
              title: 'Error rate now',
              numeric: true,
              cell: ({ layer }) => share(layer.estimatedErrorRate),
            },
            { id: 'memory', title: 'Memory', numeric: true, cell: ({ layer }) => bytes(layer.memoryBytes) },
          ]}
          rows={layers.map((layer, i) => ({ layer, at: i + 1 }))}
          keyOf={({ at }) => at}
        />
      </div>
    </section>
  );
}
