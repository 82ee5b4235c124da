import { mutates, type Call } from './history.js';
import type { ItemModel } from './item-model.js';
import { linearize } from './linearize.js';
import type { Rewind } from './rewind.js';

/**
 * Reduces a violating history to a smaller violation. It cuts the history off after the first answer that no order
 * explains, and drops reads that aren't needed. This keeps the cause, because a linearizable history stays linearizable
 * when cut off, and without its reads.
 */
export function narrow(
  calls: readonly Call[],
  model: ItemModel,
  rewinds: readonly Rewind[],
): readonly Call[] {
  const violates = (some: readonly Call[]) => linearize(some, model, rewinds) === 'violation';
  const ends = calls.map(({ end }) => end).filter(Number.isFinite);
  ends.sort((a, b) => a - b);
  const from = ends.find((end) => violates(until(calls, end))) ?? Infinity;
  let needed = until(calls, from);
  for (const call of needed) {
    if (mutates(call.verb) && call.answer !== undefined) continue;
    const others = needed.filter((other) => other !== call);
    if (violates(others) && (!mutates(call.verb) || isRepeat(call, others))) needed = others;
  }
  return needed;
}

/** The history as of a time, when later calls hadn't started and calls in progress had no answers. */
function until(calls: readonly Call[], time: number): Call[] {
  return calls.filter(({ start }) => start <= time).map((call) => (call.end > time ? pending(call) : call));
}

function pending({ answer: _, ...call }: Call): Call {
  return { ...call, end: Infinity };
}

/** An attempt without an answer adds nothing if an earlier attempt has started the same operation. */
function isRepeat(call: Call, others: readonly Call[]): boolean {
  return others.some(({ operation, start, answer }) => {
    return operation === call.operation && start <= call.start && answer === undefined;
  });
}
