import type { Meter } from '../sources/runs.js';

/** The stream that shows progress: stderr. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const BAR_WIDTH = 24;
const REDRAW_MS = 100;
const PLAIN_MS = 10_000;
const WIDE = 80;

/** A job's progress: on a terminal, a line that is redrawn, and elsewhere, plain lines from time to time. */
export class Progress {
  private items = 0;
  private shown = false;
  private shownAt: number;
  private readonly startedAt: number;
  /** Where this run began, after the part that earlier runs did. The rate and the time left are computed from here. */
  private from: { readonly at: number; readonly share: number };

  constructor(
    private readonly output: ProgressOutput | undefined,
    private readonly label: string,
    private readonly meter: Meter,
    /** Returns the time in ms. */
    private readonly clock = (): number => performance.now(),
  ) {
    this.startedAt = this.shownAt = clock();
    this.from = { at: this.startedAt, share: 0 };
  }

  /** Starts the rate here. Call this once this run has read as far as the earlier run got. */
  resume(): void {
    this.from = { at: this.clock(), share: this.share() ?? 0 };
  }

  add(items: number): void {
    this.items += items;
    if (!this.output) return;
    const now = this.clock();
    if (now - this.shownAt < (this.output.isTTY ? REDRAW_MS : PLAIN_MS)) return;
    this.shownAt = now;
    const seconds = (now - this.from.at) / 1_000;
    if (!this.output.isTTY) {
      this.output.write(`${this.text(seconds)}\n`);
      return;
    }
    this.shown = true;
    const width = (this.output.columns ?? WIDE) - 1;
    this.output.write(`\r${`${this.bar()}${this.text(seconds)}`.slice(0, width)}\x1b[K`);
  }

  /** Clears the line on a terminal, so that other text can be written. Returns the seconds since the start. */
  clear(): number {
    if (this.shown) this.output?.write('\r\x1b[K');
    this.shown = false;
    return (this.clock() - this.startedAt) / 1_000;
  }

  private text(seconds: number): string {
    const rate = this.items / Math.max(seconds, 0.001);
    const share = this.share();
    const done = (share ?? 0) - this.from.share;
    const left = share === undefined || done <= 0 ? '' : `, ${time((seconds * (1 - share)) / done)} left`;
    return `${this.label}: ${number(this.items)} lines, ${number(Math.round(rate))}/s${left}`;
  }

  private share(): number | undefined {
    const { read, total } = this.meter;
    return total === undefined || total === 0 ? undefined : Math.min(1, read / total);
  }

  private bar(): string {
    const share = this.share();
    if (share === undefined) return '';
    const full = Math.round(share * BAR_WIDTH);
    return `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] ${String(Math.floor(share * 100)).padStart(3)} % `;
  }
}

/** `1:05` minutes, `2:00:00` hours, `12 s`. */
export function time(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const [hours, minutes, rest] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (part: number): string => String(part).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** A count with commas: 1,234,567. `toLocaleString` would take a tenth of the CPU time of a short command. */
export function number(count: number): string {
  const digits = String(count);
  const groups: string[] = [];
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end));
  return groups.join(',');
}

/** A number and its noun: 1 item, 2 items. */
export function counted(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? '' : 's'}`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

export function bytes(value: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  const scaled = value / 1_000 ** power;
  return `${power === 0 || scaled >= 100 ? Math.round(scaled) : scaled.toFixed(1)} ${UNITS[power]}`;
}
