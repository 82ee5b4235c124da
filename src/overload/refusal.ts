import { ProblemError } from '../errors/problem.js';
import type { Bounded } from './in-flight.js';

const WORDS: Readonly<Record<Bounded, string>> = {
  requests: 'requests are taken at a time (MAX_REQUESTS_IN_FLIGHT)',
  streams: 'streamed bodies are taken at a time (MAX_STREAMS)',
  bytes: 'bytes of bodies are taken at a time (MAX_BYTES_IN_FLIGHT)',
  probes: 'probes are taken at a time',
};

/** What a request is told that a bound leaves no room for. It has not been executed. */
export function overloaded(bound: Bounded, limit: number): ProblemError {
  return new ProblemError('OVERLOADED', `no more than ${limit} ${WORDS[bound]}`);
}

/** What a stream is told whose caller has so many already, all that one may have. */
export function overloadedByCaller(share: number): ProblemError {
  return new ProblemError(
    'OVERLOADED',
    `no more than ${share} streamed bodies and exports of one caller are taken at a time, half of MAX_STREAMS`,
  );
}
