/** The `bytes` bytes at `at`, fewer than 8, as a little-endian word. Reads a whole word and masks the rest. */
export function tail64(at: usize, bytes: u32): u64 {
  return load<u64>(at) & (((<u64>1) << (bytes << 3)) - 1);
}

/** The bytes from `at` to `end`, at most 4, as a little-endian word. 0 if `at` is not before `end`. */
export function tail32(at: usize, end: usize): u32 {
  if (at >= end) return 0;
  const word = load<u32>(at);
  const bytes = <u32>(end - at);
  return bytes >= 4 ? word : word & ((1 << (bytes << 3)) - 1);
}
