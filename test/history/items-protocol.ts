import type { Protocol } from './protocol.js';
import { mutates, type Answer, type Operation, type Verb } from './history.js';

const VERDICTS: ReadonlySet<unknown> = new Set(['removed', 'absent', 'saturated']);

/** Batch routes for filters. */
export const ITEMS: Protocol<Operation, readonly Answer[]> = {
  request: ({ subject, verb, items }) => ({ path: `/v1/filters/${subject}/items/${verb}`, body: { items } }),
  mutates: ({ verb }) => mutates(verb),
  read({ verb, items }, { results }) {
    const fits = (result: unknown): result is Answer => answers(verb, result);
    return Array.isArray(results) && results.length === items.length && results.every(fits)
      ? results
      : undefined;
  },
};

function answers(verb: Verb, result: unknown): boolean {
  if (verb === 'remove') return VERDICTS.has(result);
  return verb === 'count' ? Number.isInteger(result) : typeof result === 'boolean';
}
