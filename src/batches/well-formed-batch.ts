import { ValidateBy, type ValidationArguments } from 'class-validator';
import { show } from '../errors/show.js';
import { itemFault, type BatchLimits, type ItemRule } from './limits.js';

/** A DTO of a batch: it carries the limits that its rule needs. */
interface Limited {
  readonly limits: BatchLimits;
}

/**
 * The member is an array of well-formed strings within the limits. One rule that loops over the array: with `each`,
 * class-validator takes as long as the rest of the request.
 */
export function WellFormedBatch(rule: ItemRule): PropertyDecorator {
  return ValidateBy({
    name: 'wellFormedBatch',
    validator: {
      validate: (value, args) => batchFault(value, rule, limitsOf(args)) === undefined,
      defaultMessage: (args) => `${args?.property} ${batchFault(args?.value, rule, limitsOf(args))}`,
    },
  });
}

function limitsOf(args: ValidationArguments | undefined): BatchLimits {
  return (args?.object as Limited).limits;
}

function batchFault(value: unknown, rule: ItemRule, limits: BatchLimits): string | undefined {
  if (value === undefined) return 'must be an array of strings, but is missing';
  if (!Array.isArray(value)) return `must be an array of strings, not ${show(value)}`;
  const { maxItems } = limits;
  if (value.length > maxItems) return `must have at most ${maxItems} entries, not ${value.length}`;
  for (let index = 0; index < value.length; index++) {
    const fault = itemFault(value[index], rule, limits);
    if (fault !== undefined) return `[${index}] ${fault}; it is ${show(value[index])}`;
  }
  return undefined;
}
