import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.js';

describe('admission settings', () => {
  it('have defaults, and no rate limit', () => {
    expect(readConfig({})).toMatchObject({
      maxRequestsInFlight: 64,
      maxBytesInFlight: 64 * 1024 ** 2,
      maxStreams: 16,
      maxConnections: 2_000,
      streamMinBytesPerSecond: 100,
      rateLimit: undefined,
    });
  });

  it('leave room for the largest body', () => {
    const large = String(100 * 1024 ** 2);
    expect(readConfig({ MAX_BODY_BYTES: large }).maxBytesInFlight).toBe(Number(large));
    expect(readConfig({ MAX_BODY_BYTES: '5000', MAX_BYTES_IN_FLIGHT: '5000' }).maxBytesInFlight).toBe(5_000);
    expect(() => readConfig({ MAX_BODY_BYTES: '5000', MAX_BYTES_IN_FLIGHT: '4999' })).toThrow(
      'MAX_BYTES_IN_FLIGHT is "4999"; it must be a whole number from 5000 to',
    );
  });

  it.each(['MAX_REQUESTS_IN_FLIGHT', 'MAX_STREAMS', 'MAX_CONNECTIONS', 'STREAM_MIN_RATE', 'RATE_LIMIT'])(
    '%s is a whole number from 1',
    (name) => {
      for (const value of ['0', '-1', '1.5', 'many']) {
        expect(() => readConfig({ [name]: value })).toThrow(
          `${name} is "${value}"; it must be a whole number from 1 to`,
        );
      }
      expect(() => readConfig({ [name]: '1' })).not.toThrow();
    },
  );

  it('accept a rate limit', () => {
    expect(readConfig({ RATE_LIMIT: '50' }).rateLimit).toBe(50);
    expect(readConfig({ RATE_LIMIT: '' }).rateLimit).toBeUndefined();
  });
});
