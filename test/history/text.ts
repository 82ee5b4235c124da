import type { Violation } from './checker.js';
import type { Call, Fault } from './history.js';

/** A violation as text for people: what is broken, and the item's calls line by line, with the faults between them. */
export function violationText({ what, item }: Violation, faults: readonly Fault[]): string {
  if (!item) return what;
  const { calls, subject, name } = item;
  const from = Math.min(...calls.map(({ start }) => start));
  const known = calls.flatMap(({ start, end }) => (Number.isFinite(end) ? [start, end] : [start]));
  const to = Math.max(...known);
  const lines = [
    ...calls.map((call) => ({ at: call.start, text: callText(call) })),
    ...faults
      .filter((fault) => fault.end >= from && fault.start <= to)
      .map((fault) => ({ at: fault.start, text: `${times(fault)}  fault ${fault.kind}` })),
  ];
  lines.sort((a, b) => a.at - b.at);
  return [what, `  item ${name} of filter ${subject}`, ...lines.map(({ text }) => `  ${text}`)].join('\n');
}

function callText(call: Call): string {
  const { attempt, verb, times: named, answer } = call;
  const result = answer ?? `? ${attempt.note ?? 'not answered yet'}`;
  const who = `operation ${call.operation}  client ${attempt.client}  instance ${attempt.instance}`;
  return `${times(call)}  ${verb}${named > 1 ? ` x${named}` : ''} -> ${result}   (${who})`;
}

function times({ start, end }: { readonly start: number; readonly end: number }): string {
  const until = Number.isFinite(end) ? `${end.toFixed(2)} ms` : 'unknown';
  return `${start.toFixed(2)} … ${until}`.padEnd(32);
}
