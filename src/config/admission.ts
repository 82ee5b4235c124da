import type { SettingReader } from './reader.js';

const MIB = 1024 * 1024;

/** How much the service takes at a time, and how fast. See docs/operations.md. */
export interface AdmissionSettings {
  readonly maxRequestsInFlight: number;
  /** Bytes of bodies. */
  readonly maxBytesInFlight: number;
  readonly maxStreams: number;
  readonly maxConnections: number;
  /** The average speed that a streamed body must keep. */
  readonly streamMinBytesPerSecond: number;
  /** Requests per second and key. Undefined for any number. */
  readonly rateLimit: number | undefined;
}

/** When nothing else is in flight there must be room for the largest body. */
export function admissionSettings(read: SettingReader, maxBodyBytes: number): AdmissionSettings {
  const bytes = Math.max(64 * MIB, maxBodyBytes);
  return {
    maxRequestsInFlight: read.whole('MAX_REQUESTS_IN_FLIGHT', 64, 1, 100_000),
    maxBytesInFlight: read.whole('MAX_BYTES_IN_FLIGHT', bytes, maxBodyBytes, Number.MAX_SAFE_INTEGER),
    maxStreams: read.whole('MAX_STREAMS', 16, 1, 100_000),
    maxConnections: read.whole('MAX_CONNECTIONS', 2_000, 1, 1_000_000),
    streamMinBytesPerSecond: read.whole('STREAM_MIN_RATE', 100, 1, 1_000 * MIB),
    rateLimit: read.optionalWhole('RATE_LIMIT', 1, 1_000_000),
  };
}
