/** Formats numbers for people. */

const WHOLE = new Intl.NumberFormat('en');
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const DIGITS = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

/** 1,234,567 */
export function whole(value: number): string {
  return WHOLE.format(value);
}

/** 1.23M */
export function short(value: number): string {
  return Math.abs(value) < 10_000 ? WHOLE.format(Math.round(value)) : SHORT.format(value);
}

const BYTES = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** In units of 1,000, such as 12.1 MB. */
export function bytes(value: number): string {
  let unit = 0;
  let left = value;
  while (left >= 999.5 && unit < BYTES.length - 1) {
    left /= 1_000;
    unit++;
  }
  return `${DIGITS.format(left)} ${BYTES[unit] ?? ''}`;
}

/** A percentage, such as 0.01 %, or 2.1e-9 below 1e-6. */
export function share(value: number): string {
  if (value === 0) return '0 %';
  if (value < 1e-6) return value.toExponential(1).replace('.0e', 'e');
  return `${new Intl.NumberFormat('en', { maximumSignificantDigits: value >= 0.1 ? 3 : 2 }).format(value * 100)} %`;
}

/** 1 in 10,000 */
export function oneIn(value: number): string {
  return value <= 0 ? 'none' : `1 in ${whole(Number((1 / value).toPrecision(3)))}`;
}

/** A rate per second: 0.25, 12.1, 3.4K. */
export function perSecond(value: number | undefined): string {
  if (value === undefined) return '–';
  if (value === 0) return '0';
  return value >= 1_000 ? short(value) : DIGITS.format(value);
}

const UNITS: readonly (readonly [name: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** 90 s, 2 h 30 min, 7 d: at most two units. */
export function duration(seconds: number): string {
  const from = UNITS.findIndex(([, length]) => seconds >= length * (length === 1 ? 1 : 1.5));
  if (from < 0) return '0 s';
  const [name, length] = UNITS[from] ?? ['s', 1];
  const most = Math.floor(seconds / length);
  const next = UNITS[from + 1];
  const rest = next ? Math.floor((seconds - most * length) / next[1]) : 0;
  return `${whole(most)} ${name}${next && rest > 0 ? ` ${rest} ${next[0]}` : ''}`;
}

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

/** An ISO 8601 time in the browser's format: Nov 25, 2026, 3:31 AM. */
export function time(iso: string | undefined): string {
  if (iso === undefined) return '–';
  return TIME.format(new Date(iso));
}

/** A future time: in 2 h 30 min, or the time itself if it is more than a day ahead. */
export function due(iso: string | undefined): string {
  const seconds = (Date.parse(iso ?? '') - Date.now()) / 1_000;
  if (seconds <= 0) return 'now';
  return seconds < 86_400 ? `in ${duration(Math.ceil(seconds))}` : time(iso);
}

/** The time of day of an ISO 8601 time: 03:31 AM. */
export function clock(iso: string): string {
  return CLOCK.format(new Date(iso));
}

/** Returns "item" or "items", for example. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : many}`;
}
