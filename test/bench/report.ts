import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { redisVersion } from './redis-instance.js';
import { totalCpu, type Figure, type Row, type Target } from './row.js';

/** A run's results as JSON, enough to compare it with another run row by row. */
export interface Report {
  readonly date: string;
  readonly quick: boolean;
  readonly machine: Machine;
  readonly rows: readonly Row[];
}

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly node: string;
  readonly redis: string;
}

export function thisMachine(): Machine {
  const cores = cpus();
  return {
    cores: cores.length,
    cpu: cores[0]?.model.trim() ?? 'unknown',
    node: process.versions.node,
    redis: redisVersion() ?? 'none',
  };
}

/** Two Markdown tables, of rows and of targets, below a line about their origin. */
export function markdown(report: Report): string {
  const { cores, cpu, node, redis } = report.machine;
  const rows = report.rows.map(({ cpu: used, latency, bytesPerItem, errorRate, ratio, ...row }) => [
    row.name,
    row.itemsPerSecond === undefined ? '' : Math.round(row.itemsPerSecond).toLocaleString('en'),
    number(used?.client),
    number(used?.service),
    number(used?.server),
    used === undefined ? '' : number(totalCpu(used)),
    spread(row.rounds),
    latency === undefined ? '' : `${number(latency.p50)} / ${number(latency.p99)}`,
    number(bytesPerItem),
    errorRate === undefined ? '' : `${number(100 * errorRate)} %`,
    ratio === undefined ? '' : `${number(ratio.value)} × ${ratio.against}`,
    (row.figures ?? []).map(figureText).join(', '),
  ]);
  const targets = report.rows.flatMap(({ name, targets }) =>
    (targets ?? []).map((target) => [name, ...targetCells(target)]),
  );
  return [
    `${report.date.slice(0, 10)}, ${cores} cores (${cpu}), Node ${node}, Redis ${redis}${report.quick ? ', --quick' : ''}`,
    table(COLUMNS, rows),
    table(['row', 'target', 'measured', ''], targets),
  ].join('\n\n');
}

const COLUMNS = [
  ...['row', 'items/s', 'client µs', 'service µs', 'Redis µs', 'total µs', 'range', 'p50 / p99 ms'],
  ...['bytes per item', 'error rate', 'CPU relative to', 'other figures'],
];

/** The least and the most CPU per item among a row's rounds. If they differ widely, the row is unreliable. */
function spread(rounds: Row['rounds'] = []): string {
  const totals = rounds.flatMap(({ cpu }) => (cpu === undefined ? [] : [totalCpu(cpu)]));
  return totals.length < 2 ? '' : `${number(Math.min(...totals))}–${number(Math.max(...totals))}`;
}

const figureText = ({ name, value, unit }: Figure) => `${name} ${withUnit(value, unit)}`;

function targetCells({ what, bound, limit, unit, measured, met }: Target): string[] {
  return [`${what}: ${bound} ${withUnit(limit, unit)}`, withUnit(measured, unit), met ? 'met' : '**missed**'];
}

function withUnit(value: number, unit: string): string {
  return `${number(value)} ${unit}`.trimEnd();
}

/** Three significant digits, or all digits of a longer integer part. Empty for undefined. */
export function number(value: number | undefined): string {
  if (value === undefined) return '';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

/** A Markdown table with aligned columns. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(3, title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] as number)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const BEGIN = '<!-- bench:begin -->';
const END = '<!-- bench:end -->';

/** Replaces the text between the markers in a Markdown file. Throws if the markers are missing. */
export function updateMarkdown(file: string, text: string): void {
  const old = readFileSync(file, 'utf8');
  const from = old.indexOf(BEGIN);
  const to = old.indexOf(END);
  if (from < 0 || to < from) throw new Error(`${file} has no ${BEGIN} … ${END}`);
  writeFileSync(file, `${old.slice(0, from + BEGIN.length)}\n\n${text}\n\n${old.slice(to)}`);
}
