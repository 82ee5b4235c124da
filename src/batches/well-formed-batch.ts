import { ValidateBy, type ValidationArguments } from 'class-validator';
import { show } from '../errors/show.js';
import { itemFault, type BatchLimits, type ItemRule } from './limits.js';

/** A DTO of a batch: it carries the limits that its rule needs. */
interface Limited {
  readonly limits: BatchLimits;
}

interface BatchFault {
  /** Of the entry at fault; absent: the batch itself is. */
  readonly index?: number;
  readonly detail: string;
}

/** What is wrong with the one batch of a DTO, so that no entry is looked at twice. */
const faults = new WeakMap<object, BatchFault & { readonly property: string }>();

/**
 * The member is an array of well-formed strings within the limits. One rule that loops over the array: with `each`,
 * class-validator takes as long as the rest of the request.
 */
export function WellFormedBatch(rule: ItemRule): PropertyDecorator {
  return ValidateBy({
    name: 'wellFormedBatch',
    validator: {
      validate: (value, args) => {
        const { object, property } = args as ValidationArguments;
        const fault = batchFault(value, rule, (object as Limited).limits);
        if (fault) faults.set(object, { ...fault, property });
        return fault === undefined;
      },
      defaultMessage: (args) =>
        `${args?.property} ${faults.get((args as ValidationArguments).object)?.detail}`,
    },
  });
}

/** Index of the entry for which validation has refused a DTO's member; undefined if it was for none. */
export function refusedEntry(dto: object, property: string): number | undefined {
  const fault = faults.get(dto);
  return fault?.property === property ? fault.index : undefined;
}

function batchFault(value: unknown, rule: ItemRule, limits: BatchLimits): BatchFault | undefined {
  if (value === undefined) return { detail: 'must be an array of strings, but is missing' };
  if (!Array.isArray(value)) return { detail: `must be an array of strings, not ${show(value)}` };
  const { maxItems } = limits;
  if (value.length > maxItems)
    return { detail: `must have at most ${maxItems} entries, not ${value.length}` };
  for (let index = 0; index < value.length; index++) {
    const fault = itemFault(value[index], rule, limits);
    if (fault !== undefined) return { index, detail: `[${index}] ${fault}; it is ${show(value[index])}` };
  }
  return undefined;
}
