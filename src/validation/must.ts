import type { ValidationArguments, ValidationOptions } from 'class-validator';
import { show } from '../errors/show.js';

/**
 * Options for a class-validator rule. Its message names the member, the requirement, and the value (or its absence).
 */
export function must(requirement: string): ValidationOptions {
  return {
    message: ({ property, value }: ValidationArguments) =>
      value === undefined
        ? `${property} is missing; it must ${requirement}`
        : `${property} must ${requirement}, not ${show(value)}`,
  };
}
