import { ValidateBy } from 'class-validator';
import { must } from './must.js';

/** The member must be a well-formed string of at most `bytes` bytes in UTF-8. */
export function MaxBytes(bytes: number): PropertyDecorator {
  const validate = (value: unknown): boolean =>
    typeof value === 'string' && value.isWellFormed() && Buffer.byteLength(value) <= bytes;
  return ValidateBy(
    { name: 'maxBytes', validator: { validate } },
    must(`be a string of well-formed Unicode with at most ${bytes} bytes in UTF-8`),
  );
}
