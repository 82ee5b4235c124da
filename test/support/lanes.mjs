/** A spec's file name. */
export const SPEC = /\.(?:spec|e2e-spec)\.ts$/;
/** The file name of a spec that runs only in `npm run test:all`. */
const ALL_ONLY = /\.all\.(?:spec|e2e-spec)\.ts$/;

/** `npm test` runs lane `core`. `npm run test:all` runs lane `all`, which includes `core`. */
const LANES = ['core', 'all'];

/**
 * A spec's lane. It is `core` unless the name ends in `.all.spec.ts` or `.all.e2e-spec.ts`.
 *
 * @param {string} file
 * @returns {'core' | 'all'}
 */
export function laneOf(file) {
  return ALL_ONLY.test(file) ? 'all' : 'core';
}

/**
 * This process's lane, from the variable `LANE`. Without it Jest runs all tests, as `npm run mutate` needs.
 *
 * @returns {'core' | 'all'}
 */
export function currentLane() {
  const lane = process.env.LANE || 'all';
  if (!LANES.includes(lane)) throw new Error(`LANE is "${lane}". Set it to ${LANES.join(' or ')}.`);
  return lane;
}

/** Jest's patterns for a lane's specs: the paths of the tests, and the tests among them to ignore. */
export function specsOf(lane) {
  return {
    testRegex: SPEC.source,
    testPathIgnorePatterns: ['/node_modules/', ...(lane === 'core' ? [ALL_ONLY.source] : [])],
  };
}
