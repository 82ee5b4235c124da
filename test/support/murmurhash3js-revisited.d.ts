/** The part of the package that the tests use. It has no types of its own. */
declare module 'murmurhash3js-revisited' {
  const murmurHash3: {
    /** 32 hex digits: the four words in order, each printed from its most significant digit. */
    readonly x86: { hash128(bytes: Uint8Array, seed: number): string };
  };
  export default murmurHash3;
}
