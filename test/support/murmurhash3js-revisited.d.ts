/** Types for the part of the package that the tests use. The package has none. */
declare module 'murmurhash3js-revisited' {
  const murmurHash3: {
    /** 32 hex digits, with the four words in order, most significant digit first. */
    readonly x86: { hash128(bytes: Uint8Array, seed: number): string };
  };
  export default murmurHash3;
}
