import type { AdmissionSettings } from '../config/admission.js';

/**
 * What is bounded: requests, streamed bodies and exports, probes, the bytes of bodies that they hold, and the bytes of
 * answers that wait in memory for their clients to take them.
 */
export const BOUNDED = ['requests', 'streams', 'probes', 'bytes', 'answers'] as const;

export type Bounded = (typeof BOUNDED)[number];

/** What one request is counted as; a stream is no request here, since it mostly waits for its sender. */
export type RequestKind = Extract<Bounded, 'requests' | 'streams' | 'probes'>;

/** How much of each there may be. */
export type Bounds = Readonly<Record<Bounded, number>>;

/** How much of each there is. */
export type Counts = Record<Bounded, number>;

export function noCounts(): Counts {
  return { requests: 0, streams: 0, probes: 0, bytes: 0, answers: 0 };
}

/** The bounds that the settings say; those on probes have no setting, since their number is the operator's own. */
export function boundsOf(settings: AdmissionSettings): Bounds {
  return {
    requests: settings.maxRequestsInFlight,
    streams: settings.maxStreams,
    probes: MAX_PROBES,
    bytes: settings.maxBytesInFlight,
    answers: settings.maxBytesInFlight,
  };
}

const MAX_PROBES = 16;
