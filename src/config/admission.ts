import type { SettingReader } from './reader.js';

const MIB = 1024 * 1024;

/** Limits on the load that the service accepts. See docs/operations.md. */
export interface AdmissionSettings {
  readonly maxRequestsInFlight: number;
  /** Bytes of request bodies. */
  readonly maxBytesInFlight: number;
  readonly maxStreams: number;
  readonly maxConnections: number;
  /** The minimum average speed of a streamed body. */
  readonly streamMinBytesPerSecond: number;
  /** Requests per second and key. Undefined for no limit. */
  readonly rateLimit: number | undefined;
}

/** Reads the limits. The largest body must fit if nothing else is in flight. */
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
