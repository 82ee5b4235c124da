/**
 * Keys as UTF-8 in one buffer, so that no key has to become a string. Key i is `bytes` from `span[2i]` to
 * `span[2i + 1]`, exclusive. Keys are in ascending order of their offsets.
 */
export interface PackedKeys {
  readonly bytes: Uint8Array;
  readonly span: Uint32Array;
  readonly length: number;
}

/** A batch of keys. Strings must be well-formed Unicode, and bytes must be valid UTF-8. */
export type Keys = readonly string[] | PackedKeys;

/** True if the keys are packed bytes, not strings. */
export function isPacked(keys: Keys): keys is PackedKeys {
  return 'span' in keys;
}

/** The keys from index `from` to `to`, exclusive. */
export function sliceKeys(keys: Keys, from: number, to: number): Keys {
  if (!isPacked(keys)) return keys.slice(from, to);
  return { bytes: keys.bytes, span: keys.span.subarray(2 * from, 2 * to), length: to - from };
}
