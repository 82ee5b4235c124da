import fc, { type Arbitrary } from 'fast-check';

/** Usual values, `weight` times as often as odd ones. */
export const often = <T>(usual: Arbitrary<T>, odd: Arbitrary<T>, weight = 6): Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd });
