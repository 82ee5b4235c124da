/**
 * Keys as UTF-8 in one buffer, so that none of them has to become a string. Key i is `bytes` from `span[2i]` up to, but
 * not including, `span[2i + 1]`. Keys are in the order of their bytes in the buffer.
 */
export interface PackedKeys {
  readonly bytes: Uint8Array;
  readonly span: Uint32Array;
  readonly length: number;
}

/** A batch of keys. Strings must be well-formed Unicode, bytes valid UTF-8. */
export type Keys = readonly string[] | PackedKeys;

/** Whether the keys are bytes, not strings. */
export function isPacked(keys: Keys): keys is PackedKeys {
  return 'span' in keys;
}

/** The keys from index `from` up to, but not including, `to`. */
export function sliceKeys(keys: Keys, from: number, to: number): Keys {
  if (!isPacked(keys)) return keys.slice(from, to);
  return { bytes: keys.bytes, span: keys.span.subarray(2 * from, 2 * to), length: to - from };
}
