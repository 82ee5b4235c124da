/** The part the tests use of a package that ships no types. */
declare module 'murmurhash3js-revisited' {
  const murmurHash3: {
    /** 32 hex digits: the four words in order, each printed from its most significant digit. */
    readonly x86: { hash128(bytes: Uint8Array, seed: number): string };
  };
  export default murmurHash3;
}
