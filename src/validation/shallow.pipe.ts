import { Inject, Injectable, type ArgumentMetadata, type PipeTransform, type Type } from '@nestjs/common';
import { getMetadataStorage, validateSync } from 'class-validator';
import { batchLimits, type BatchLimits } from '../batches/limits.js';
import { refusedEntry } from '../batches/well-formed-batch.js';
import { Config } from '../config.js';
import { ProblemError, type Fault } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { isKnownWellFormed } from '../http/well-formed.js';

/** A request DTO. Limits that are settings come in by the constructor; most DTOs have none. */
export type DtoType<T extends object> = new (limits: BatchLimits) => T;

/**
 * Validates a body or a query against its DTO, one level deep: Nest's own pipe walks through every item of a batch twice.
 * It is no bypass: a member that the DTO does not declare is refused, `__proto__` and its like included, and only
 * declared members are copied.
 */
export function validateShallow<T extends object>(type: DtoType<T>, value: unknown, limits: BatchLimits): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProblemError(
      'VALIDATION_FAILED',
      `the body must be a JSON object, not ${value === undefined ? 'empty' : show(value)}`,
    );
  }
  const declared = membersOf(type);
  const dto = new type(isKnownWellFormed(value) ? { ...limits, wellFormed: true } : limits);
  for (const [name, member] of Object.entries(value)) {
    if (!declared.has(name)) throw refused([unknownMember(name, declared)]);
    Reflect.set(dto, name, member);
  }
  const errors = validateSync(dto, { forbidUnknownValues: true, stopAtFirstError: true });
  if (errors.length === 0) return dto;
  throw refused(
    errors.map(({ property, constraints }) => ({
      pointer: pointerTo(property, refusedEntry(dto, property)),
      detail: Object.values(constraints ?? {})[0] ?? `${property} is not valid`,
    })),
  );
}

function refused(errors: readonly Fault[]): ProblemError {
  return new ProblemError('VALIDATION_FAILED', errors.map(({ detail }) => detail).join('; '), { errors });
}

function pointerTo(property: string, index: number | undefined): string {
  return index === undefined ? `#/${property}` : `#/${property}/${index}`;
}

function unknownMember(name: string, declared: ReadonlySet<string>): Fault {
  return { pointer: '#', detail: `${show(name)} is no member; allowed: ${[...declared].join(', ')}` };
}

const declaredMembers = new WeakMap<object, ReadonlySet<string>>();

function membersOf(type: DtoType<object>): ReadonlySet<string> {
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
  private readonly limits: BatchLimits;

  constructor(@Inject(Config) config: Config) {
    this.limits = batchLimits(config);
  }

  transform(value: unknown, { metatype }: ArgumentMetadata): object {
    if (metatype === undefined) throw new TypeError('ShallowPipe needs a parameter with a DTO class');
    return validateShallow(metatype as Type<object>, value, this.limits);
  }
}
