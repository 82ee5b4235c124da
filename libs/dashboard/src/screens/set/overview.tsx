import { bytes, perSecond, share, short, whole } from '../../format.js';
import type { Rates } from '../../rates.js';
import { roomOf, type Whole } from '../../sets.js';
import { Bar } from '../../ui/bar.js';
import { Figure } from '../../ui/facts.js';

/** The most important numbers. */
export function Overview({
  described,
  rates,
}: {
  readonly described: Whole;
  readonly rates: Rates | undefined;
}): preact.JSX.Element {
  const { items, estimatedErrorRate, errorRate, memoryBytes, saturatedCounters, overCapacity } = described;
  const room = roomOf(described);
  const isOver = estimatedErrorRate > errorRate;
  return (
    <section class="panel" aria-label="Numbers">
      <dl class="tiles">
        <Figure
          name="Items"
          value={whole(items)}
          tone={overCapacity ? 'bad' : undefined}
          note={`of ${whole(room)}, ${share(items / room)}`}
        >
          <Bar value={items} most={room} tone={overCapacity ? 'bad' : 'plain'} label="Items vs. capacity" />
        </Figure>
        <Figure
          name="Error rate now"
          value={share(estimatedErrorRate)}
          tone={isOver ? 'bad' : undefined}
          note={`${isOver ? 'above the promised' : 'promised:'} ${share(errorRate)}`}
        />
        <Figure
          name="New per second"
          value={perSecond(rates?.fresh)}
          note={`${short(described.added)} in total`}
        />
        <Figure
          name="Seen per second"
          value={perSecond(rates?.seen)}
          note={`${short(described.duplicate)} in total`}
        />
        <Figure
          name="Forgotten per second"
          value={perSecond(rates?.forgotten)}
          note={`${short(described.removed)} in total, ${short(described.refused)} refused`}
        />
        <Figure name="Memory" value={bytes(memoryBytes)} note={perItem(memoryBytes, items)} />
        <Figure
          name="Saturated counters"
          value={short(saturatedCounters)}
          note={saturatedCounters > 0 ? 'stuck at 15' : 'none at 15'}
        />
      </dl>
    </section>
  );
}

function perItem(memoryBytes: number, items: number): string {
  return items === 0 ? 'empty' : `${bytes(memoryBytes / items)} per item`;
}
