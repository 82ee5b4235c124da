/** The folder for redis-py's sources with its tests, and the Python that runs them; undefined if none has pytest. */
export function findRedisPy(): {
  readonly folder: string;
  readonly exists: boolean;
  readonly python: string | undefined;
};
