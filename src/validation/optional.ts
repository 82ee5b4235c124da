import { ValidateIf } from 'class-validator';

/** The member may be absent. Unlike class-validator's IsOptional, null is not absent. */
export function Optional(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}
