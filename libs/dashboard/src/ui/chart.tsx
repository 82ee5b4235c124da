import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { Button } from './button.js';
import { DataTable } from './data-table.js';

/** A chart's line. null leaves a gap. */
export interface Line {
  readonly label: string;
  /** Number of its colour among the series colours. */
  readonly colour: 1 | 2 | 3 | 4;
  readonly values: readonly (number | null)[];
  readonly look?: 'line' | 'dashed' | 'points' | 'area';
}

interface ChartProps {
  readonly title: string;
  /** The horizontal axis: its name, and how it formats a value. */
  readonly across: {
    readonly name: string;
    readonly values: readonly number[];
    readonly format: (value: number) => string;
    /** The values are seconds since 1970. */
    readonly time?: boolean;
    readonly whole?: boolean;
  };
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /**
   * True if the values are counts. Ticks are then whole numbers, because a tick between two would show a rounded label.
   */
  readonly whole?: boolean;
  /** Makes the scale logarithmic. Lines start at this value, and points below it are drawn there. */
  readonly logarithmicFrom?: number;
}

const HEIGHT = 210;
/** uPlot declares this enum without exporting its values. */
const LOGARITHMIC: object = { distr: 3 };

/** A line chart with a legend for the values under the pointer. Users can switch to the same data as a table. */
export function Chart(props: ChartProps): preact.JSX.Element {
  const { title, across, lines, format } = props;
  const [asTable, setAsTable] = useState(false);
  const [at, setAt] = useState<number>();
  const id = useId();
  return (
    <figure class="chart" aria-labelledby={id}>
      <div class="head">
        <h3 id={id}>{title}</h3>
        <Button
          look="quiet"
          pressed={asTable}
          label={`${title} as a table`}
          onClick={() => setAsTable(!asTable)}
        >
          Table
        </Button>
      </div>
      {asTable ? (
        <ChartTable {...props} />
      ) : (
        <>
          <Plot {...props} onPoint={setAt} />
          <ul class="legend">
            {lines.map(({ label, colour, values }) => (
              <li key={label}>
                <span class={`swatch series-${colour}`} />
                {label}
                <b>{shown(values[at ?? -1], format)}</b>
              </li>
            ))}
            {at !== undefined && <li>{across.format(across.values[at] ?? 0)}</li>}
          </ul>
        </>
      )}
    </figure>
  );
}

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return typeof value === 'number' ? format(value) : '';
}

function ChartTable({ title, across, lines, format }: ChartProps): preact.JSX.Element {
  return (
    // The element scrolls, so keyboard users must be able to focus it.
    <div class="scroll tall" tabIndex={0} role="region" aria-label={`${title}, as a table`}>
      <DataTable
        caption={title}
        columns={[
          { id: 'across', title: across.name, cell: (i: number) => across.format(across.values[i] ?? 0) },
          ...lines.map(({ label, values }) => ({
            id: label,
            title: label,
            numeric: true,
            cell: (i: number) => shown(values[i], format) || '–',
          })),
        ]}
        rows={across.values.map((_, i) => i).filter((i) => lines.some(({ values }) => values[i] != null))}
        keyOf={(i) => i}
      />
    </div>
  );
}

const DARK = matchMedia('(prefers-color-scheme: dark)');

function Plot(
  props: ChartProps & { readonly onPoint: (at: number | undefined) => void },
): preact.JSX.Element {
  const { title, across, lines, logarithmicFrom } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [failed, setFailed] = useState(false);
  const [dark, setDark] = useState(DARK.matches);
  const latest = useRef(props);
  latest.current = props;
  const data = [across.values, ...lines.map((line) => drawn(line, logarithmicFrom))] as uPlot.AlignedData;
  const latestData = useRef(data);
  latestData.current = data;
  // Different lines or colours need a new chart.
  const shape = `${dark} ${lines.map(({ label }) => label).join()}`;
  useEffect(() => {
    const { current: place } = host;
    if (!place) return;
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: place.clientWidth, height: HEIGHT }),
    );
    const look = (): void => setDark(DARK.matches);
    let isGone = false;
    const draw = async (): Promise<void> => {
      const { default: UPlot } = await import('uplot');
      if (isGone) return;
      plot.current = new UPlot(optionsOf(latest, place), latestData.current, place);
      observer.observe(place);
      DARK.addEventListener('change', look);
    };
    draw().catch(() => !isGone && setFailed(true));
    return () => {
      isGone = true;
      DARK.removeEventListener('change', look);
      observer.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [across.values, lines]);
  if (failed) return <p class="hint">The chart could not be loaded. “Table” shows the numbers.</p>;
  return (
    <div
      ref={host}
      class="plot"
      role="img"
      aria-label={`Chart: ${title}. Its button “Table” shows the numbers.`}
    />
  );
}

function drawn({ values, look }: Line, least = -Infinity): readonly (number | null)[] {
  return values.map((value) => (value === null || value >= least ? value : look === 'points' ? least : null));
}

function optionsOf(
  latest: { readonly current: ChartProps & { readonly onPoint: (at: number | undefined) => void } },
  place: HTMLElement,
): uPlot.Options {
  const { lines, across, logarithmicFrom } = latest.current;
  const logarithmic = logarithmicFrom !== undefined;
  const colour = coloursOf(place);
  const axis = {
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
    font: '12px system-ui, sans-serif',
  };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    scales: { x: { time: across.time ?? false }, y: logarithmic ? LOGARITHMIC : { range: fromZero } },
    axes: [
      {
        ...axis,
        size: 32,
        ...(!across.time && { values: (_: uPlot, ticks: number[]) => ticks.map(across.format), space: 70 }),
        ...(across.time && { values: '{HH}:{mm}', space: 60, incrs: MINUTES }),
        ...(across.whole && { incrs: WHOLE }),
      },
      {
        ...axis,
        size: logarithmic ? 78 : 64,
        ...(logarithmic && { splits: powersOfTen, filter: all }),
        ...(latest.current.whole && { incrs: WHOLE }),
        values: (_: uPlot, ticks: (number | null)[]) =>
          ticks.map((tick) => (tick === null ? '' : latest.current.format(tick))),
      },
    ],
    series: [{}, ...lines.map((line) => seriesOf(line, colour))],
    hooks: {
      setCursor: [
        ({ cursor: { idx, left } }) =>
          latest.current.onPoint(idx == null || (left ?? -1) < 0 ? undefined : idx),
      ],
    },
  };
}

/** Tick steps with distinct labels: in seconds for clocks that show minutes, and for counts. */
const MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360].map((minutes) => minutes * 60);
const WHOLE = Array.from({ length: 48 }, (_, i) => Number(`${[1, 2, 5][i % 3]}e${Math.floor(i / 3)}`));

const MOST_POWERS = 6;

/** A few powers of ten at equal distances between `least` and `most`. */
function powersOfTen(_: uPlot, _axis: number, least: number, most: number): number[] {
  const [first, last] = [Math.ceil(Math.log10(least)), Math.floor(Math.log10(most))];
  const step = Math.max(1, Math.ceil((last - first) / MOST_POWERS));
  const count = Math.max(0, Math.floor((last - first) / step) + 1);
  return Array.from({ length: count }, (_none, i) => Number(`1e${last - i * step}`)).reverse();
}

function all(_: uPlot, splits: number[]): number[] {
  return splits;
}

function fromZero(_: uPlot, _least: number, most: number): uPlot.Range.MinMax {
  return [0, most > 0 ? most * 1.08 : 1];
}

function seriesOf({ colour: number, look = 'line' }: Line, colour: (name: string) => string): uPlot.Series {
  const stroke = colour(`--series-${number}`);
  return {
    stroke,
    width: look === 'points' ? 0 : 1.75,
    spanGaps: false,
    points: look === 'points' ? { show: true, size: 11, fill: stroke } : { show: false },
    ...(look === 'dashed' && { dash: [6, 5] }),
    ...(look === 'area' && { fill: stroke.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.12)') }),
  };
}

/** Resolves the style sheet's colours for a canvas. */
function coloursOf(place: HTMLElement): (name: string) => string {
  return (name) => {
    place.style.color = `var(${name})`;
    const { color } = getComputedStyle(place);
    place.style.color = '';
    return color;
  };
}
