import { ProblemError } from '../errors/problem.js';
import type { Bounded, Bounds } from './bounds.js';

/**
 * Why a request is refused: the bound, and whether it was reached by all callers together or by the request's own
 * caller.
 */
export interface Refusal {
  readonly bound: Bounded;
  readonly ofCaller: boolean;
}

const refusal = (bound: Bounded) => ({
  all: { bound, ofCaller: false } satisfies Refusal,
  caller: { bound, ofCaller: true } satisfies Refusal,
});

export const REFUSALS = {
  requests: refusal('requests'),
  streams: refusal('streams'),
  probes: refusal('probes'),
  bytes: refusal('bytes'),
  answers: refusal('answers'),
} satisfies Record<Bounded, Record<'all' | 'caller', Refusal>>;

const WORDS: Readonly<Record<Bounded, string>> = {
  requests: 'requests at a time (MAX_REQUESTS_IN_FLIGHT)',
  streams: 'streamed bodies and exports at a time (MAX_STREAMS)',
  probes: 'probes at a time',
  bytes: 'bytes of bodies at a time (MAX_BYTES_IN_FLIGHT)',
  answers: 'bytes of unread answers at a time (MAX_BYTES_IN_FLIGHT)',
};

/** The error for a refused request. The request has not run. */
export function overloaded({ bound, ofCaller }: Refusal, bounds: Bounds): ProblemError {
  const words = `the service takes at most ${bounds[bound]} ${WORDS[bound]}`;
  return new ProblemError('OVERLOADED', `${words}${ofCaller ? PARTS[bound] : ''}; retry later`);
}

const LEFT = ', and reserves part of that for other callers';
const HALF = ', and at most half of that per caller';

/** How the error describes one caller's share. */
const PARTS: Readonly<Record<Bounded, string>> = {
  requests: LEFT,
  streams: LEFT,
  probes: LEFT,
  bytes: LEFT,
  answers: HALF,
};
