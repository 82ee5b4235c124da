/**
 * Keys as UTF-8 in one buffer, so that none of them need ever be a string: key i is `bytes` from `span[2i]` to before
 * `span[2i + 1]`. Keys are in the order in which they lie there.
 */
export interface PackedKeys {
  readonly bytes: Uint8Array;
  readonly span: Uint32Array;
  readonly length: number;
}

/** A batch of keys. Strings must be well-formed Unicode, bytes valid UTF-8. */
export type Keys = readonly string[] | PackedKeys;

/** Whether keys are bytes. */
export function isPacked(keys: Keys): keys is PackedKeys {
  return 'span' in keys;
}

/** The keys from `from` to before `to`. */
export function sliceKeys(keys: Keys, from: number, to: number): Keys {
  if (!isPacked(keys)) return keys.slice(from, to);
  return { bytes: keys.bytes, span: keys.span.subarray(2 * from, 2 * to), length: to - from };
}
