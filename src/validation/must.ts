import type { ValidationArguments, ValidationOptions } from 'class-validator';
import { show } from '../errors/show.js';

/** Options of a class-validator rule. Its message names the member, the requirement, and the value. */
export function must(requirement: string): ValidationOptions {
  return {
    message: ({ property, value }: ValidationArguments) =>
      `${property} must ${requirement}, ${value === undefined ? 'but is missing' : `not ${show(value)}`}`,
  };
}
