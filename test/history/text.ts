import type { Violation } from './violation.js';
import type { Call } from './history.js';
import type { Fault } from './attempt.js';
import type { Step } from './queue-trail.js';

/** A violation as text for people: the broken rule, and the requests line by line, with the faults between them. */
export function violationText({ what, item, trail }: Violation, faults: readonly Fault[]): string {
  if (item) {
    const steps = item.calls.map((call) => ({ ...call, text: callText(call) }));
    return [what, `  item ${item.name} of filter ${item.subject}`, ...linesOf(steps, faults)].join('\n');
  }
  return trail ? [what, ...linesOf(trail, faults)].join('\n') : what;
}

function linesOf(steps: readonly Step[], faults: readonly Fault[]): string[] {
  const from = Math.min(...steps.map(({ start }) => start));
  const known = steps.flatMap(({ start, end }) => (Number.isFinite(end) ? [start, end] : [start]));
  const to = Math.max(...known);
  const lines = [
    ...steps.map((step) => ({ at: step.start, text: `${times(step)}  ${step.text}` })),
    ...faults
      .filter((fault) => fault.end >= from && fault.start <= to)
      .map((fault) => ({ at: fault.start, text: `${times(fault)}  fault ${fault.kind}` })),
  ];
  lines.sort((a, b) => a.at - b.at);
  return lines.map(({ text }) => `  ${text}`);
}

function callText(call: Call): string {
  const { attempt, verb, times: named, answer } = call;
  const result = answer ?? `? ${attempt.note ?? 'not answered yet'}`;
  const who = `operation ${call.operation}  client ${attempt.client}  instance ${attempt.instance}`;
  return `${verb}${named > 1 ? ` x${named}` : ''} -> ${result}   (${who})`;
}

function times({ start, end }: { readonly start: number; readonly end: number }): string {
  const until = Number.isFinite(end) ? `${end.toFixed(2)} ms` : 'unknown';
  return `${start.toFixed(2)} … ${until}`.padEnd(32);
}
