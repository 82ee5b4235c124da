import type { Plan } from '#client';
import { useEffect, useState } from 'preact/hooks';
import { LEFT } from '../../connection.js';
import { bytes, duration, share, short, whole } from '../../format.js';
import { client } from '../../session.js';
import { Bar } from '../../ui/bar.js';
import { DataTable } from '../../ui/data-table.js';
import { wordsOf } from '../../ui/notice.js';
import { Facts } from '../../ui/facts.js';
import { faultsOf, planOf, type Form } from './form.js';

const DEBOUNCE_MS = 200;
/** Bytes per item in a Redis SET of SHA-1 hex digests, measured with a million items. */
const EXACT_BYTES = 88;

interface Planned {
  readonly plan?: Plan;
  readonly error?: Error;
}

/** The plan for the form, requested from the service as the user types. */
function usePlan(form: Form): Planned {
  const [planned, setPlanned] = useState<Planned>({});
  // Ignores these members, because they don't change the plan.
  const isWhole = Object.keys(faultsOf(form)).every((member) => /^(?:maxAttempts|perHost)/.test(member));
  const asked = isWhole ? JSON.stringify(planOf(form)) : '';
  const { value: service } = client;
  useEffect(() => {
    if (asked === '') {
      // Keeps the previous plan while the form is incomplete, but drops a previous error.
      setPlanned((old) => (old.error ? {} : old));
      return;
    }
    const leaving = new AbortController();
    const { signal } = leaving;
    const timer = setTimeout(() => {
      service.plan(JSON.parse(asked) as Parameters<typeof service.plan>[0], { signal }).then(
        (plan) => setPlanned({ plan }),
        (error: unknown) => {
          if (!signal.aborted) setPlanned({ error: error as Error });
        },
      );
    }, DEBOUNCE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort(LEFT);
    };
  }, [asked, service]);
  return planned;
}

export function PlanPanel({ form }: { readonly form: Form }): preact.JSX.Element {
  const { plan, error } = usePlan(form);
  return (
    <section class="panel plan" aria-labelledby="plan">
      <h2 id="plan">Memory needed</h2>
      <div aria-live="polite">
        {error && <p class="fault">No plan available: {wordsOf(error)}</p>}
        {plan && <Memory plan={plan} />}
      </div>
      {plan && <Shape plan={plan} />}
      {!plan && !error && <p class="hint">The plan appears as you type.</p>}
    </section>
  );
}

function Memory({ plan: { memoryBytes, capacity } }: { readonly plan: Plan }): preact.JSX.Element {
  const exact = capacity * EXACT_BYTES;
  return (
    <>
      <p class="figure">{bytes(memoryBytes)}</p>
      <div class="beside">
        <span>this</span>
        <Bar value={memoryBytes} most={exact} label="Memory of this" />
        <span class="number">{bytes(memoryBytes)}</span>
        <span>exact set</span>
        <Bar value={exact} most={exact} tone="info" label="Memory of an exact set" />
        <span class="number">{bytes(exact)}</span>
      </div>
      <p class="hint">
        {bytes(memoryBytes / capacity)} per item. An exact Redis SET takes about {bytes(EXACT_BYTES)}.
      </p>
    </>
  );
}

function Shape({ plan }: { readonly plan: Plan }): preact.JSX.Element {
  const { geometry, plannedLayers = [], maxAgeSeconds } = plan;
  return (
    <>
      <Facts
        facts={[
          ['Hashes', whole(geometry.hashes)],
          ['Counters', short(geometry.counters)],
          ['Counters per page', whole(geometry.pageSize)],
          ['Segments', whole(geometry.segments)],
          ...(maxAgeSeconds === undefined ? [] : [['Forgets after', duration(maxAgeSeconds)] as const]),
        ]}
      />
      {plannedLayers.length > 0 && (
        <>
          <h3>Layers it can grow to</h3>
          <DataTable
            caption="Layers it can grow to"
            columns={[
              { id: 'layer', title: 'Layer', cell: ({ at }) => at },
              { id: 'capacity', title: 'Items', numeric: true, cell: ({ layer }) => short(layer.capacity) },
              {
                id: 'errors',
                title: 'Error rate',
                numeric: true,
                cell: ({ layer }) => share(layer.errorRate),
              },
              { id: 'memory', title: 'Memory', numeric: true, cell: ({ layer }) => bytes(layer.memoryBytes) },
            ]}
            rows={plannedLayers.map((layer, i) => ({ layer, at: i + 1 }))}
            keyOf={({ at }) => at}
          />
        </>
      )}
    </>
  );
}
