import type { AdmissionSettings } from '../config/admission.js';

/**
 * The resources that have a bound. Streams are streamed bodies and exports. Bytes are the bytes of request bodies in
 * memory. Answers are the bytes of answers that wait in memory until clients read them.
 */
export const BOUNDED = ['requests', 'streams', 'probes', 'bytes', 'answers'] as const;

export type Bounded = (typeof BOUNDED)[number];

/**
 * The resource that a request counts as. A stream doesn't count as a request, because it mostly waits for its sender.
 */
export type RequestKind = Extract<Bounded, 'requests' | 'streams' | 'probes'>;

/** The maximum of each resource. */
export type Bounds = Readonly<Record<Bounded, number>>;

/** How much of each resource is in use. */
export type Counts = Record<Bounded, number>;

export function noCounts(): Counts {
  return { requests: 0, streams: 0, probes: 0, bytes: 0, answers: 0 };
}

/**
 * The bounds from the settings. The bound on probes has no setting, because operators decide how many probes they send.
 */
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
