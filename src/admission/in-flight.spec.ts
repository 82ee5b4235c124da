import { describe, expect, it } from '@jest/globals';
import { BOUNDED, type RequestKind } from './bounds.js';
import { InFlight } from './in-flight.js';
import { REFUSALS } from './refusal.js';
import { RequestPermit } from './request-permit.js';

const BOUNDS = { requests: 2, streams: 1, probes: 1, bytes: 100, answers: 100 };

function admit(inFlight: InFlight, kind: RequestKind, caller?: string, bytes = 0) {
  return inFlight.admit({ kind, bytes, caller });
}

function admitted(inFlight: InFlight, kind: RequestKind, caller?: string): RequestPermit {
  const permit = admit(inFlight, kind, caller);
  if (!(permit instanceof RequestPermit)) throw new Error(`refused by ${permit.bound}`);
  return permit;
}

const counts = (inFlight: InFlight) => BOUNDED.map((of) => inFlight.count(of));
const NOTHING = [0, 0, 0, 0, 0];

describe('InFlight', () => {
  it('admits requests up to each bound, names the bound it reaches, and counts refusals', () => {
    const inFlight = new InFlight(BOUNDS);
    admitted(inFlight, 'requests').cover(60);
    expect(admit(inFlight, 'requests', undefined, 41)).toBe(REFUSALS.bytes.all);
    admitted(inFlight, 'requests').cover(40);
    expect(admit(inFlight, 'requests')).toBe(REFUSALS.requests.all);
    admitted(inFlight, 'streams');
    expect(admit(inFlight, 'streams')).toBe(REFUSALS.streams.all);
    admitted(inFlight, 'probes');
    expect(admit(inFlight, 'probes')).toBe(REFUSALS.probes.all);
    expect(counts(inFlight)).toEqual([2, 1, 1, 100, 0]);
    expect(BOUNDED.map((by) => inFlight.refused(by))).toEqual([1, 1, 1, 1, 0]);
  });

  it('admits a request without a body while all bytes are in use', () => {
    const inFlight = new InFlight(BOUNDS);
    admitted(inFlight, 'streams').hold(1_000);
    expect(admit(inFlight, 'requests', undefined, 1)).toBe(REFUSALS.bytes.all);
    admitted(inFlight, 'requests');
  });

  it('does not reserve a request’s announced bytes', () => {
    const inFlight = new InFlight(BOUNDS);
    expect(admit(inFlight, 'requests', undefined, 100)).toBeInstanceOf(RequestPermit);
    expect(admit(inFlight, 'requests', undefined, 100)).toBeInstanceOf(RequestPermit);
  });
});

describe('one caller’s share', () => {
  const BOUND = 64;
  const wide = () => new InFlight({ ...BOUNDS, requests: BOUND, streams: 5 });

  /** Admits each caller's requests in turn until all are refused. Returns how many each caller has. */
  function fill(inFlight: InFlight, ...callers: string[]): number[] {
    const taken = callers.map(() => 0);
    for (let round = 0; round < BOUND; round++) {
      callers.forEach((caller, i) => {
        if (admit(inFlight, 'requests', caller) instanceof RequestPermit) taken[i] = (taken[i] ?? 0) + 1;
      });
    }
    return taken;
  }

  it('is half of the bound for a single caller, and equal shares leave as much for the next caller', () => {
    expect(fill(wide(), 'a')).toEqual([32]);
    expect(fill(wide(), 'a', 'b')).toEqual([22, 21]);
    expect(fill(wide(), 'a', 'b', 'c')).toEqual([16, 16, 16]);
    const inFlight = wide();
    fill(inFlight, 'a');
    expect(admit(inFlight, 'requests', 'a')).toBe(REFUSALS.requests.caller);
    expect(fill(inFlight, 'b')).toEqual([16]);
  });

  it('is rounded up, so that a new caller finds a place', () => {
    const inFlight = wide();
    for (let i = 0; i < 3; i++) admitted(inFlight, 'streams', 'a');
    expect(admit(inFlight, 'streams', 'a')).toBe(REFUSALS.streams.caller);
    expect(admit(new InFlight({ ...BOUNDS, requests: 1 }), 'requests', 'a')).toBeInstanceOf(RequestPermit);
  });

  it('does not limit requests without a known caller', () => {
    const inFlight = wide();
    for (let i = 0; i < BOUND; i++) admitted(inFlight, 'requests');
  });

  it('also limits bytes, but a caller that holds nothing may send the largest body', () => {
    const inFlight = new InFlight({ ...BOUNDS, requests: 9, bytes: 64 });
    const bodies = [0, 1, 2, 3].map(() => admitted(inFlight, 'requests', 'a'));
    expect(bodies.map((permit) => permit.cover(16)?.message ?? 'covered')).toEqual([
      'covered',
      'covered',
      expect.stringContaining('reserves part of that for other callers'),
      expect.stringContaining('64 bytes of bodies'),
    ]);
    expect(admitted(inFlight, 'requests', 'b').cover(16)).toBeUndefined();
    const empty = new InFlight({ ...BOUNDS, bytes: 16 });
    expect(admitted(empty, 'requests', 'a').cover(16)).toBeUndefined();
  });

  it('moves with the permit to the caller that authentication finds', () => {
    const inFlight = wide();
    const permit = admitted(inFlight, 'requests', 'address:192.0.2.1');
    expect(permit.chargeTo('key:a')).toBeUndefined();
    expect(permit.caller).toBe('key:a');
    fill(inFlight, 'key:a');
    const late = admitted(inFlight, 'requests', 'address:192.0.2.1');
    expect(late.chargeTo('key:a')?.message).toContain('for other callers');
    late.over();
    permit.over();
    expect(inFlight.count('requests')).toBe(31);
  });

  it('is half of the unread answers, and above that, only this caller’s next request is refused', () => {
    const inFlight = new InFlight({ ...BOUNDS, requests: 9 });
    const first = admitted(inFlight, 'requests', 'a');
    first.answered(50);
    const second = admitted(inFlight, 'requests', 'a');
    second.answered(500);
    expect(inFlight.count('requests')).toBe(0);
    expect(admit(inFlight, 'requests', 'a')).toBe(REFUSALS.answers.caller);
    admitted(inFlight, 'requests', 'b').over();
    expect(admit(inFlight, 'requests', undefined)).toBe(REFUSALS.answers.all);
    second.over();
    expect(inFlight.count('answers')).toBe(50);
    admitted(inFlight, 'requests', 'a').over();
    first.over();
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('is forgotten when the caller holds nothing', () => {
    const inFlight = wide();
    const permit = admitted(inFlight, 'requests', 'a');
    permit.cover(10);
    permit.answered(7);
    expect(inFlight.callerCount).toBe(1);
    permit.over();
    expect(inFlight.callerCount).toBe(0);
  });
});
