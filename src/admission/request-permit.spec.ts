import { describe, expect, it } from '@jest/globals';
import { BOUNDED, type RequestKind } from './bounds.js';
import { InFlight } from './in-flight.js';
import type { Refusal } from './refusal.js';
import { RequestPermit } from './request-permit.js';

const BOUNDS = { requests: 2, streams: 2, probes: 1, bytes: 100, answers: 100 };

function admitted(inFlight: InFlight, kind: RequestKind, caller?: string): RequestPermit {
  return toPermit(inFlight.admit({ kind, bytes: 0, caller }));
}

function toPermit(outcome: RequestPermit | Refusal): RequestPermit {
  if (!(outcome instanceof RequestPermit)) throw new Error(`refused by ${outcome.bound}`);
  return outcome;
}

const counts = (inFlight: InFlight) => BOUNDED.map((of) => inFlight.count(of));
const NOTHING = [0, 0, 0, 0, 0];

describe('a permit', () => {
  it('takes more bytes while they are available, and gives all back', () => {
    const inFlight = new InFlight(BOUNDS);
    const permit = admitted(inFlight, 'requests');
    expect(permit.cover(70)).toBeUndefined();
    expect(permit.cover(30)).toBeUndefined();
    expect(permit.cover(101)).toMatchObject({ code: 'OVERLOADED' });
    expect(inFlight.refused('bytes')).toBe(1);
    expect(inFlight.count('bytes')).toBe(70);
    permit.over();
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('counts a stream’s bytes as they grow and shrink', () => {
    const inFlight = new InFlight(BOUNDS);
    const permit = admitted(inFlight, 'streams');
    expect(permit.hold(500)).toBeUndefined();
    expect(inFlight.count('bytes')).toBe(500);
    permit.hold(20);
    expect(inFlight.count('bytes')).toBe(20);
    permit.over();
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('reports an error when a stream grows while its caller holds more than half of all bytes', () => {
    const inFlight = new InFlight(BOUNDS);
    const one = admitted(inFlight, 'streams', 'a');
    expect(one.hold(50)).toBeUndefined();
    expect(one.hold(51)).toMatchObject({ code: 'OVERLOADED' });
    expect(one.hold(51)).toBeUndefined();
    expect(admitted(inFlight, 'streams', 'b').hold(50)).toBeUndefined();
  });

  it('is kept until the exchange and all its work have ended, even if they fail', async () => {
    const inFlight = new InFlight(BOUNDS);
    const permit = admitted(inFlight, 'requests');
    permit.cover(10);
    let fail: (error: Error) => void = () => undefined;
    const work = permit.during(() => new Promise((_, reject) => (fail = reject)));
    permit.over();
    expect(counts(inFlight)).toEqual([1, 0, 0, 10, 0]);
    fail(new Error('the store is unavailable'));
    await expect(work).rejects.toThrow('the store is unavailable');
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('is taken again by work that begins after the exchange, and given back exactly once each time', async () => {
    const inFlight = new InFlight(BOUNDS);
    const permit = admitted(inFlight, 'streams');
    permit.hold(30);
    permit.over();
    permit.hold(40);
    expect(counts(inFlight)).toEqual(NOTHING);
    await permit.during(async () => expect(counts(inFlight)).toEqual([0, 1, 0, 40, 0]));
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('gives its place back while it waits for its body, and takes a place again if one is free', () => {
    const inFlight = new InFlight(BOUNDS);
    const permit = admitted(inFlight, 'requests');
    permit.cover(10);
    permit.park();
    permit.park();
    expect(counts(inFlight)).toEqual([0, 0, 0, 10, 0]);
    const others = [admitted(inFlight, 'requests'), admitted(inFlight, 'requests')];
    expect(permit.unpark()).toMatchObject({ code: 'OVERLOADED' });
    others[0]?.over();
    expect(permit.unpark()).toBeUndefined();
    expect(permit.unpark()).toBeUndefined();
    expect(inFlight.count('requests')).toBe(2);
    permit.over();
    others[1]?.over();
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('gives back only what it holds if it ends while it waits for its body', () => {
    const inFlight = new InFlight(BOUNDS);
    const permit = admitted(inFlight, 'requests');
    permit.cover(10);
    permit.park();
    permit.over();
    permit.over();
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('is charged to no caller if its client left during authentication', () => {
    const inFlight = new InFlight(BOUNDS);
    const permit = admitted(inFlight, 'requests', 'address');
    permit.over();
    expect(permit.chargeTo('key')).toBeUndefined();
    expect(counts(inFlight)).toEqual(NOTHING);
    expect(inFlight.callerCount).toBe(0);
  });

  it('tells its connection when it takes or gives back its place', () => {
    const places: boolean[] = [];
    const connection = { setBusy: (busy: boolean) => void places.push(busy) };
    const inFlight = new InFlight(BOUNDS);
    const permit = toPermit(inFlight.admit({ kind: 'requests', bytes: 0, caller: 'a', connection }));
    permit.park();
    permit.unpark();
    permit.answered(3);
    permit.over();
    expect(places).toEqual([true, false, true, false]);
  });
});
