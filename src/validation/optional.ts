import { ValidateIf } from 'class-validator';

/** The member may be absent. Unlike with class-validator's IsOptional, null does not count as absent. */
export function Optional(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}
