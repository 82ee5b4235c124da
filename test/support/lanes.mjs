/** The name of a spec. */
export const SPEC = /\.(?:spec|e2e-spec)\.ts$/;
/** The name of a spec that runs in `npm run test:all` only. */
const ALL_ONLY = /\.all\.(?:spec|e2e-spec)\.ts$/;

/** The lanes: `npm test` runs `core`, `npm run test:all` runs `all`, which contains `core`. */
const LANES = ['core', 'all'];

/**
 * The lane in which a spec runs first. A new spec is in `core`, unless its name ends in `.all.spec.ts` or
 * `.all.e2e-spec.ts`.
 *
 * @param {string} file
 * @returns {'core' | 'all'}
 */
export function laneOf(file) {
  return ALL_ONLY.test(file) ? 'all' : 'core';
}

/**
 * The lane that this process runs, by the variable `LANE`. Without it Jest runs all tests, as `npm run mutate` needs.
 *
 * @returns {'core' | 'all'}
 */
export function currentLane() {
  const lane = process.env.LANE || 'all';
  if (!LANES.includes(lane)) throw new Error(`LANE is "${lane}". Set it to ${LANES.join(' or ')}.`);
  return lane;
}

/**
 * Jest's patterns for the specs of a lane: which paths are tests, and which of them are left out.
 *
 * @param {'core' | 'all'} lane
 */
export function specsOf(lane) {
  return {
    testRegex: SPEC.source,
    testPathIgnorePatterns: ['/node_modules/', ...(lane === 'core' ? [ALL_ONLY.source] : [])],
  };
}
