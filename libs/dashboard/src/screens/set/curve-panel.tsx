import { useMemo } from 'preact/hooks';
import { curveOf } from '../../error-rate.js';
import { share, short } from '../../format.js';
import type { Whole } from '../../sets.js';
import { Chart, type Line } from '../../ui/chart.js';

/** Lowest rate in the chart. Lower rates add no information. */
const LEAST = 1e-15;

/** Shows the set's error rates from empty to full, and where it is now. */
export function CurvePanel({ described }: { readonly described: Whole }): preact.JSX.Element {
  const { items, estimatedErrorRate, errorRate } = described;
  const rooms = described.layers.map(({ capacity }) => capacity).join();
  const curve = useMemo(() => curveOf(described), [described.generation, rooms]);
  const { across, lines } = useMemo(() => {
    const at = curve.items.findLastIndex((count) => count <= items);
    // Adds the current state as a point between the points of the curve.
    const insert = <T,>(values: readonly T[], value: T): T[] => values.toSpliced(at + 1, 0, value);
    const none = curve.items.map(() => null);
    const drawn: Line[] = [
      {
        label: 'Computed',
        colour: 1,
        values: insert<number | null>(curve.rates, curve.rates[at] ?? null),
      },
      { label: 'Promised', colour: 2, look: 'dashed', values: [...none, null].map(() => errorRate) },
      {
        label: 'You are here',
        colour: 4,
        look: 'points',
        values: insert<number | null>(none, estimatedErrorRate),
      },
    ];
    return { across: insert(curve.items, items), lines: drawn };
  }, [curve, items, estimatedErrorRate, errorRate]);
  return (
    <section class="panel" aria-label="Error rate by items">
      <Chart
        title="Error rate by items"
        across={{ name: 'Items', values: across, format: short, whole: true }}
        lines={lines}
        format={share}
        logarithmicFrom={LEAST}
      />
      <p class="hint">
        You are here: {short(items)} items, with an error rate of {share(estimatedErrorRate)}, estimated from
        the counters in use.
      </p>
    </section>
  );
}
