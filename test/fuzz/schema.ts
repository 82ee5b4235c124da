/** The part of JSON Schema that the API document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly nullable?: boolean;
}

export type Schemas = Readonly<Record<string, Schema>>;

/** `schema`, or the schema that it refers to. */
export function resolve(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  if (name === undefined) return schema;
  const found = schemas[name];
  if (!found) throw new Error(`the document has no schema ${name}`);
  return found;
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  array: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** Where `value` doesn't match the schema. Empty if it matches. Undeclared members are faults. */
export function faultsOf(value: unknown, written: Schema, schemas: Schemas, at = '#'): string[] {
  const schema = resolve(written, schemas);
  if (schema.nullable === true && value === null) return [];
  if (schema.oneOf) {
    const matches = schema.oneOf.some((one) => faultsOf(value, one, schemas, at).length === 0);
    return matches ? [] : [`${at} is none of oneOf`];
  }
  if (schema.allOf) return schema.allOf.flatMap((one) => faultsOf(value, one, schemas, at));
  const { type, enum: values } = schema;
  if (type !== undefined && TYPES[type]?.(value) !== true) return [`${at} is no ${type}`];
  if (values && !values.includes(value)) return [`${at} is none of ${values.join(', ')}`];
  if (typeof value === 'number') return rangeFaults(value, schema, at);
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => faultsOf(item, schema.items ?? {}, schemas, `${at}/${i}`));
  }
  return typeof value === 'object' && value !== null
    ? memberFaults(value as Readonly<Record<string, unknown>>, schema, schemas, at)
    : [];
}

function rangeFaults(
  value: number,
  { minimum = -Infinity, maximum = Infinity }: Schema,
  at: string,
): string[] {
  return value >= minimum && value <= maximum ? [] : [`${at} is not from ${minimum} to ${maximum}`];
}

function memberFaults(
  value: Readonly<Record<string, unknown>>,
  { required = [], properties, additionalProperties }: Schema,
  schemas: Schemas,
  at: string,
): string[] {
  const missing = required.filter((name) => !(name in value)).map((name) => `${at} lacks ${name}`);
  const wrong = Object.entries(value).flatMap(([name, member]) => {
    const schema = properties?.[name] ?? additionalProperties ?? properties === undefined;
    if (typeof schema === 'object') return faultsOf(member, schema, schemas, `${at}/${name}`);
    return schema ? [] : [`${at} has ${name}, which is not declared`];
  });
  return [...missing, ...wrong];
}
