import type { History, Point } from '#client';
import { useMemo } from 'preact/hooks';
import { clock, perSecond, share, short, time } from '../../format.js';
import { usePoll } from '../../poll.js';
import { client } from '../../session.js';
import { handleOf, type Subject } from '../../sets.js';
import { Chart, type Line } from '../../ui/chart.js';
import { Pending } from '../../ui/notice.js';
import { withGaps } from './gaps.js';

const SECONDS = 6 * 3_600;
const EVERY_MS = 30_000;

/** The last six hours. */
export function HistoryPanel({ kind, name }: Subject): preact.JSX.Element {
  const polled = usePoll<History>(
    `history of ${kind}/${name}`,
    (signal) => handleOf(client.value, kind, name).history({ seconds: SECONDS, signal }),
    EVERY_MS,
  );
  const { data } = polled;
  return (
    <section class="panel" aria-labelledby="history">
      <div class="head">
        <h2 id="history">The last six hours</h2>
        {data?.watched && <span class="summary">since {time(data.since)}, as this instance saw it</span>}
      </div>
      <Pending of={polled} what="history" />
      {data && !data.watched && (
        <p class="hint">This instance does not record this history: it already watches 500 filters.</p>
      )}
      {data?.watched && data.points.length < 2 && (
        <p class="hint">The instance records a point every minute. Lines appear from the second point on.</p>
      )}
      {data && data.points.length >= 2 && <Charts history={data} />}
      <p class="hint">
        The history starts with the instance. To keep it longer, collect /metrics with Prometheus.
      </p>
    </section>
  );
}

function Charts({ history }: { readonly history: History }): preact.JSX.Element {
  const { points, values } = useMemo(() => {
    const spread = withGaps(history.points, history.intervalSeconds);
    return { points: spread, values: spread.map(({ at }) => at / 1_000) };
  }, [history]);
  const across = {
    name: 'Time',
    values,
    time: true,
    format: (seconds: number) => clock(new Date(seconds * 1_000).toISOString()),
  };
  const lines = useMemo(() => linesOf(points.map(({ point }) => point)), [points]);
  return (
    <div class="grid">
      <Chart title="Items" across={across} lines={lines.items} format={short} whole />
      <Chart title="Error rate" across={across} lines={lines.errors} format={share} />
      <Chart title="Events per second" across={across} lines={lines.rates} format={perSecond} />
      {lines.queue && <Chart title="Queue" across={across} lines={lines.queue} format={short} whole />}
    </div>
  );
}

type Points = readonly (Point | undefined)[];

function linesOf(
  points: Points,
): Record<'items' | 'errors' | 'rates', Line[]> & { queue: Line[] | undefined } {
  const of = (value: (point: Point) => number | undefined): (number | null)[] =>
    points.map((point) => (point && value(point)) ?? null);
  const rate = (member: 'added' | 'duplicate' | 'removed'): (number | null)[] =>
    points.map((point, i) => rateBetween(points[i - 1], point, member));
  return {
    items: [{ label: 'Items', colour: 1, look: 'area', values: of(({ items }) => items) }],
    errors: [{ label: 'Error rate', colour: 4, values: of(({ estimatedErrorRate }) => estimatedErrorRate) }],
    rates: [
      { label: 'New', colour: 1, values: rate('added') },
      { label: 'Seen', colour: 2, values: rate('duplicate') },
      { label: 'Forgotten', colour: 3, values: rate('removed') },
    ],
    queue: points.some((point) => point?.queue)
      ? [
          { label: 'Waiting', colour: 1, values: of(({ queue }) => queue?.waiting) },
          { label: 'Leased', colour: 2, values: of(({ queue }) => queue?.leased) },
          { label: 'Delayed', colour: 3, values: of(({ queue }) => queue?.delayed) },
          { label: 'Dead', colour: 4, values: of(({ queue }) => queue?.dead) },
        ]
      : undefined,
  };
}

function rateBetween(
  before: Point | undefined,
  now: Point | undefined,
  member: 'added' | 'duplicate' | 'removed',
): number | null {
  if (!before || !now) return null;
  const seconds = (Date.parse(now.at) - Date.parse(before.at)) / 1_000;
  return seconds > 0 ? Math.max(0, now[member] - before[member]) / seconds : null;
}
