import type { Checked, Comparison } from './comparison.js';

/**
 * Bytes per entry of a Redis SET that holds hexadecimal SHA-1 fingerprints, as crawlers use today. Measured with Redis
 * 7.0.15 at 10^6 entries. The report computes with this figure, and measures nothing.
 */
export const SHA1_ENTRY_BYTES = 88;

const LABEL_WIDTH = 24;
const NUMBER_WIDTH = 11;

export interface ReportInput extends Comparison {
  /** The input list's name. */
  readonly title: string;
  readonly distinct: number;
  readonly errorRate: number;
  readonly memoryBytes: number;
}

/** The demo's final table. */
export function report(input: ReportInput): string {
  const { discovered, forgotten, checked, distinct, errorRate, memoryBytes } = input;
  const exactBytes = distinct * SHA1_ENTRY_BYTES;
  const perUrl = (memoryBytes / distinct).toFixed(1);
  const times = (exactBytes / memoryBytes).toFixed(1);
  return [
    '',
    `${input.title} through a visited set for ${whole(distinct)} URLs at error rate ${errorRate}`,
    '',
    row('given', discovered.given, 'lines, with repetitions'),
    row('  invalid', discovered.invalid, 'not an http or https URL'),
    row('  new', discovered.fresh, `an exact set says ${whole(distinct)}`),
    row('  seen', discovered.seen),
    row('  false positives', discovered.falsePositives.size, 'reported as seen, but new'),
    row('  false negatives', discovered.falseNegatives, 'reported as new, but seen'),
    row('forgotten', forgotten.forgotten, `of ${whole(forgotten.stale)} stale URLs, every fifth`),
    row('  false positives', checked.falsePositives, `still seen, of ${whole(forgotten.stale)} forgotten`),
    row('  false negatives', checked.falseNegatives, kept(checked)),
    row('memory, KiB', memoryBytes / 1024, `${perUrl} bytes per URL, without the queue`),
    row(
      '  exact SHA-1 set, KiB',
      exactBytes / 1024,
      `${times} times as much, computed with ${SHA1_ENTRY_BYTES} bytes per member of a Redis SET`,
    ),
    row('lines per second', discovered.linesPerSecond, 'discovered over HTTP, including this client'),
    row('', forgotten.linesPerSecond, 'forgotten'),
    row('', checked.linesPerSecond, 'checked'),
    '',
  ].join('\n');
}

export function row(label: string, value: number, remark = ''): string {
  return `${label.padEnd(LABEL_WIDTH)}${whole(value).padStart(NUMBER_WIDTH)}  ${remark}`.trimEnd();
}

function kept({ kept: count, neverStored }: Checked): string {
  const remark = `unseen, of ${whole(count)} kept`;
  return neverStored === 0 ? remark : `${remark}; ${whole(neverStored)} of them were never stored`;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
