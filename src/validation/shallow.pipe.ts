import { Injectable, type ArgumentMetadata, type PipeTransform, type Type } from '@nestjs/common';
import { getMetadataStorage, validateSync } from 'class-validator';
import { jsonObject, refused } from './json-object.js';

/**
 * Validates a body or a query against its DTO, one level deep. It can't be bypassed, because it refuses members that
 * the DTO doesn't declare, such as `__proto__`, and copies only declared members.
 */
export function validateShallow<T extends object>(type: Type<T>, value: unknown): T {
  const dto = new type();
  Object.assign(dto, jsonObject(value, membersOf(type)));
  const errors = validateSync(dto, { forbidUnknownValues: true, stopAtFirstError: true });
  if (errors.length === 0) return dto;
  throw refused(
    errors.map(({ property, constraints }) => ({
      pointer: `#/${property}`,
      detail: Object.values(constraints ?? {})[0] ?? `${property} is not valid`,
    })),
  );
}

const declaredMembers = new WeakMap<object, ReadonlySet<string>>();

function membersOf(type: Type<object>): ReadonlySet<string> {
  let members = declaredMembers.get(type);
  if (members === undefined) {
    const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    members = new Set(rules.map(({ propertyName }) => propertyName));
    declaredMembers.set(type, members);
  }
  return members;
}

/** `@Body(ShallowPipe) body: SomeDto`, `@Query(ShallowPipe) query: SomeDto`. */
@Injectable()
export class ShallowPipe implements PipeTransform<unknown, object> {
  transform(value: unknown, { metatype }: ArgumentMetadata): object {
    if (metatype === undefined) throw new TypeError('ShallowPipe needs a parameter with a DTO class');
    return validateShallow(metatype as Type<object>, value);
  }
}

/** Like ShallowPipe, for a body that may be absent. An absent body has no members. */
@Injectable()
export class OptionalBodyPipe extends ShallowPipe {
  override transform(value: unknown, metadata: ArgumentMetadata): object {
    return super.transform(value === undefined ? {} : value, metadata);
  }
}
