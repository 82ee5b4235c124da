import { ValidateIf } from 'class-validator';

/** Allows the member to be absent. Unlike with class-validator's IsOptional, null doesn't count as absent. */
export function Optional(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}
