import { bytes, perSecond, share, short, whole } from '../../format.js';
import type { RateMeter } from '../../rates.js';
import { isLost, KIND_NAMES, linkTo, queueOf, roomOf, severityOf, type Entry } from '../../sets.js';
import { Conditions } from '../../ui/badge.js';
import { Bar } from '../../ui/bar.js';
import type { Column } from '../../ui/data-table.js';

/** Sorts unknown numbers below known ones. */
const UNKNOWN = -1;

export function columns(meter: RateMeter): readonly Column<Entry>[] {
  const rate = (id: 'fresh' | 'seen' | 'forgotten', title: string): Column<Entry> => ({
    id,
    title,
    numeric: true,
    sorted: ({ described }) => meter.of(described.name)?.[id] ?? UNKNOWN,
    cell: ({ described }) => perSecond(meter.of(described.name)?.[id]),
  });
  return [
    {
      id: 'name',
      title: 'Name',
      sorted: ({ described }) => described.name,
      cell: (entry) => (
        <>
          <a href={linkTo(entry)}>{entry.described.name}</a>
          <small>{KIND_NAMES[entry.kind]}</small>
        </>
      ),
    },
    {
      id: 'state',
      title: 'State',
      numeric: true,
      sorted: ({ described }) => severityOf(described),
      cell: ({ described }) => <Conditions described={described} />,
    },
    {
      id: 'items',
      title: 'Items vs. capacity',
      numeric: true,
      sorted: ({ described }) => (isLost(described) ? UNKNOWN : described.items / roomOf(described)),
      cell: (entry) => <Items entry={entry} />,
    },
    {
      id: 'errors',
      title: 'Error rate',
      numeric: true,
      sorted: ({ described }) =>
        isLost(described) ? UNKNOWN : described.estimatedErrorRate / described.errorRate,
      cell: (entry) => <ErrorRate entry={entry} />,
    },
    rate('fresh', 'New / s'),
    rate('seen', 'Seen / s'),
    rate('forgotten', 'Forgotten / s'),
    {
      id: 'queue',
      title: 'Queue',
      numeric: true,
      sorted: ({ described }) => queueOf(described)?.waiting ?? UNKNOWN,
      cell: (entry) => <QueueCounts entry={entry} />,
    },
    {
      id: 'saturated',
      title: 'Saturated',
      numeric: true,
      sorted: ({ described }) => (isLost(described) ? UNKNOWN : described.saturatedCounters),
      cell: ({ described }) => (isLost(described) ? '–' : short(described.saturatedCounters)),
    },
    {
      id: 'memory',
      title: 'Memory',
      numeric: true,
      sorted: ({ described }) => described.memoryBytes,
      cell: ({ described }) => bytes(described.memoryBytes),
    },
  ];
}

function Items({ entry: { described } }: { readonly entry: Entry }): preact.JSX.Element {
  const room = roomOf(described);
  if (isLost(described)) return <>– of {short(room)}</>;
  const { items, overCapacity, growth } = described;
  const tone = overCapacity ? 'bad' : growth === 'none' && items >= 0.9 * room ? 'warn' : 'plain';
  return (
    <>
      <span title={`${whole(items)} of ${whole(room)}`}>
        <b>{short(items)}</b> of {short(room)}
      </span>
      <Bar value={items} most={room} tone={tone} label={`Items of ${described.name}`} />
    </>
  );
}

function ErrorRate({ entry: { described } }: { readonly entry: Entry }): preact.JSX.Element {
  if (isLost(described)) return <>–</>;
  const { estimatedErrorRate, errorRate } = described;
  const isOver = estimatedErrorRate > errorRate;
  return (
    <>
      <b class={isOver ? 'bad' : undefined}>{share(estimatedErrorRate)}</b>
      <small>
        {isOver ? 'over' : 'of'} {share(errorRate)}
      </small>
    </>
  );
}

function QueueCounts({ entry: { described } }: { readonly entry: Entry }): preact.JSX.Element {
  const queue = queueOf(described);
  if (!queue) return <span class="faint">–</span>;
  const { waiting, leased, delayed, scheduled, dead } = queue;
  return (
    <>
      <span>
        <b>{short(waiting)}</b> waiting
      </span>
      <small>
        {short(leased)} leased, {short(delayed)} delayed, {scheduled > 0 && `${short(scheduled)} scheduled, `}
        <span class={dead > 0 ? 'warn' : ''}>{short(dead)} dead</span>
      </small>
    </>
  );
}
