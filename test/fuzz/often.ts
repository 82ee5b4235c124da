import fc, { type Arbitrary } from 'fast-check';

/** Mostly the usual, `weight` times as often as the odd. */
export const often = <T>(usual: Arbitrary<T>, odd: Arbitrary<T>, weight = 6): Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd });
