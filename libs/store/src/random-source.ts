import { randomBytes } from 'node:crypto';
import { SEED_BYTES } from '#bloom';

/** The source of a store's ids and its filters' seeds. */
export interface RandomSource {
  /** `bytes` random bytes in hex. Instances that share data never get the same bytes. */
  id(bytes: number): string;
  /**
   * SEED_BYTES random bytes for the hashes of a new filter. An attacker who knows them can choose items that collide.
   */
  seed(): Uint8Array;
}

/** The operating system's randomness. */
export const SYSTEM_RANDOM: RandomSource = {
  id: (bytes) => randomBytes(bytes).toString('hex'),
  seed: () => randomBytes(SEED_BYTES),
};
