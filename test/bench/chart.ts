/** One bar. Its length shows `value` on the axis that all bars share. */
export interface Bar {
  readonly label: string;
  /** Greater than 0. */
  readonly value: number;
  /** Text after the value. */
  readonly note: string;
  /** True for the chart's subject, drawn in the accent colour. Other bars are grey. */
  readonly own: boolean;
}

const WIDTH = 760;
const LABEL_WIDTH = 200;
const NOTE_WIDTH = 250;
const BAR_HEIGHT = 18;
const STEP = 26;
const TOP = 58;
const BOTTOM = 34;
const PLOT = WIDTH - LABEL_WIDTH - NOTE_WIDTH;
/** Dark text on an opaque light card is legible on any background. */
const COLOURS = {
  card: '#ffffff',
  edge: '#d0d7de',
  text: '#1f2328',
  faint: '#59636e',
  own: '#0969da',
  other: '#8c959f',
};

/** Draws horizontal bars on a logarithmic axis, as the text of an SVG image. Throws RangeError without bars. */
export function barChart(title: string, unit: string, bars: readonly Bar[]): string {
  const values = bars.map(({ value }) => value);
  if (bars.length === 0 || !values.every((value) => value > 0 && value < Infinity)) {
    throw new RangeError(`a chart needs bars above 0, not [${values.join(', ')}]`);
  }
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const x = (value: number) => LABEL_WIDTH + ((Math.log10(value) - low) / (high - low)) * PLOT;
  const bottom = TOP + bars.length * STEP;
  const height = bottom + BOTTOM;
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="6" fill="${COLOURS.card}" stroke="${COLOURS.edge}"/>`,
    text(16, 26, title, COLOURS.text, 'font-size="15" font-weight="600"'),
    ...ticks.flatMap((tick) => gridLine(x(tick), bottom, `${Number(tick.toPrecision(1))}`)),
    text(LABEL_WIDTH + PLOT + 24, bottom + 18, `${unit}, logarithmic`, COLOURS.faint),
    ...bars.flatMap((bar, i) => barShapes(bar, TOP + i * STEP, x(bar.value))),
    '</svg>',
    '',
  ].join('\n');
}

function gridLine(x: number, bottom: number, label: string): string[] {
  const at = x.toFixed(1);
  return [
    `<line x1="${at}" y1="${TOP - 8}" x2="${at}" y2="${bottom}" stroke="${COLOURS.edge}"/>`,
    text(x, bottom + 18, label, COLOURS.faint, 'text-anchor="middle"'),
  ];
}

function barShapes({ label, value, note, own }: Bar, y: number, end: number): string[] {
  const middle = y + BAR_HEIGHT - 5;
  const width = Math.max(1, end - LABEL_WIDTH).toFixed(1);
  const weight = own ? 'font-weight="600"' : '';
  return [
    text(LABEL_WIDTH - 8, middle, label, COLOURS.text, `text-anchor="end" ${weight}`.trim()),
    `<rect x="${LABEL_WIDTH}" y="${y}" width="${width}" height="${BAR_HEIGHT}" fill="${own ? COLOURS.own : COLOURS.other}"/>`,
    text(
      end + 6,
      middle,
      `${Number(value.toPrecision(3))}${note === '' ? '' : ` · ${note}`}`,
      COLOURS.text,
      weight,
    ),
  ];
}

function text(x: number, y: number, words: string, colour: string, more = ''): string {
  const rest = more === '' ? '' : ` ${more}`;
  return `<text x="${x.toFixed(1)}" y="${y}" fill="${colour}"${rest}>${escaped(words)}</text>`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(words: string): string {
  return words.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
