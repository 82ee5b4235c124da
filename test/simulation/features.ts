/** The features that a history may have. */
export const FEATURES = [
  'remove',
  'queue',
  'syncs',
  'growth',
  'age',
  'faults',
  'kills',
  'repeats',
  'names',
  'reads',
  'dead-letters',
  'clock set back',
  'transfer',
  'damage',
] as const;
export type Feature = (typeof FEATURES)[number];
