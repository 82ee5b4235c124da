import { InvalidArgumentError } from 'commander';

// Parsers for option values. They throw commander's errors, which name the option.

const WHOLE = /^\d{1,16}$/;
const DECIMAL = /^\d{1,16}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?$/i;
const TIME = /^(\d{1,9})(ms|s|m|h|d)?$/;
const MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const CALENDAR_TIME = /^\d{4}-/;
const MOST_DAYS = 36_500;

/** The largest number that `whole` supports. */
export const MOST = Number.MAX_SAFE_INTEGER;

/** A parser for whole numbers: `1000000`, `1_000_000`, `1e6`. */
export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const plain = text.replaceAll('_', '');
    const number = WHOLE.test(plain) || DECIMAL.test(plain) ? Number(plain) : NaN;
    if (Number.isSafeInteger(number) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** A parser for decimal numbers: `0.001`, `1e-3`. The service checks most limits. */
export function decimal(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = DECIMAL.test(text) ? Number(text) : NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`);
  };
}

/** A parser for texts that must say something. */
export function text(given: string): string {
  if (given.trim() !== '') return given;
  throw new InvalidArgumentError('It must not be empty.');
}

/** A parser for times: `90`, `90s`, `90m`, `2h`, `1d`. The default unit is seconds. Returns whole seconds. */
export function seconds(min: number, max: number): (text: string) => number {
  return (text) => {
    const [, digits, unit = 's'] = TIME.exec(text) ?? [];
    const value = digits === undefined ? NaN : (Number(digits) * MS[unit as keyof typeof MS]) / 1_000;
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(
      `It must be a whole number of seconds from ${min} to ${max}, for example 30s, 90m or 2h.`,
    );
  };
}

/**
 * A parser for a point in time: `2030-01-31T12:00:00Z`, which the service checks, or a duration from `now` such as
 * `2h`. A duration needs a unit, because a number could also mean a year. Returns the time as ISO 8601.
 */
export function time(now: () => number = Date.now): (text: string) => string {
  return (text) => {
    const [, digits, unit] = TIME.exec(text) ?? [];
    if (unit === undefined && CALENDAR_TIME.test(text)) return text;
    const ms = unit === undefined ? NaN : Number(digits) * MS[unit as keyof typeof MS];
    if (ms > 0 && ms <= MOST_DAYS * MS.d) return new Date(now() + ms).toISOString();
    throw new InvalidArgumentError(
      `It must be a time such as 2030-01-31T12:00:00Z, or a duration from now such as 90m, 2h or 30d, from 1ms to ${MOST_DAYS}d.`,
    );
  };
}
