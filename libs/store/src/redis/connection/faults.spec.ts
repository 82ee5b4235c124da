import { describe, expect, it } from '@jest/globals';
import { StoreError } from '../../errors.js';
import { away, inOurWords } from './faults.js';

describe('an unavailable Redis', () => {
  it.each([
    ['Connection is closed.', 'the connection to Redis was lost'],
    [
      'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.',
      'the connection to Redis was lost',
    ],
    ["Stream isn't writeable and enableOfflineQueue options is false", 'the connection to Redis was lost'],
    ['Command timed out', 'Redis did not answer in time'],
    ["Socket timeout. Expecting data, but didn't receive any in 2000ms.", 'Redis did not answer in time'],
    ["Cluster isn't ready and enableOfflineQueue options is false", 'no Redis cluster node can be reached'],
    ['Failed to refresh slots cache.', 'no Redis cluster node can be reached'],
    ['None of startup nodes is available', 'no Redis cluster node can be reached'],
    [
      'All sentinels are unreachable. Retrying from scratch after 50ms.',
      'no Sentinel can be reached, or none knows the master',
    ],
  ])('is reported in our own message, not in the client’s: %s', (theirs, ours) => {
    expect(inOurWords(new Error(theirs))).toMatchObject({ message: ours });
  });

  it('keeps the messages of other errors', () => {
    const error = new Error('connect ECONNREFUSED 127.0.0.1:6379');
    expect(inOurWords(error)).toBe(error);
    expect(inOurWords(undefined)).toBeUndefined();
  });

  it('gets a public message', () => {
    const error = away('Redis cannot be reached', new Error('Connection is closed.'));
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({
      ...{ code: 'STORE_UNAVAILABLE', isPublic: true },
      message: 'Redis cannot be reached; retry later',
      cause: { message: 'the connection to Redis was lost' },
    });
  });
});
