/** The bytes of `words[index]` that lie before byte `length`, as a little-endian word: 0 if none does. */
export function tailWord(words: Uint32Array, index: number, length: number): number {
  const bytes = length - index * 4;
  if (bytes <= 0) return 0;
  const word = words[index] as number;
  return bytes >= 4 ? word : word & ((1 << (bytes * 8)) - 1);
}
