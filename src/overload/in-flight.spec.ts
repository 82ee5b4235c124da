import { describe, expect, it } from '@jest/globals';
import { InFlight, Slot, type Bounded, type RequestKind } from './in-flight.js';

const BOUNDS = { requests: 2, streams: 1, probes: 1, bytes: 100 };

function admitted(inFlight: InFlight, kind: RequestKind, bytes: number): Slot {
  const slot = inFlight.admit(kind, bytes);
  if (!(slot instanceof Slot)) throw new Error(`refused by ${slot}`);
  return slot;
}

const counts = (inFlight: InFlight) =>
  (['requests', 'streams', 'probes', 'bytes'] satisfies Bounded[]).map((of) => inFlight.count(of));

describe('InFlight', () => {
  it('admits up to each bound, says which one is reached, and counts what it refuses', () => {
    const inFlight = new InFlight(BOUNDS);
    admitted(inFlight, 'requests', 60);
    expect(inFlight.admit('requests', 41)).toBe('bytes');
    admitted(inFlight, 'requests', 40);
    expect(inFlight.admit('requests', 0)).toBe('requests');
    admitted(inFlight, 'streams', 0);
    expect(inFlight.admit('streams', 0)).toBe('streams');
    admitted(inFlight, 'probes', 0);
    expect(inFlight.admit('probes', 0)).toBe('probes');
    expect(counts(inFlight)).toEqual([2, 1, 1, 100]);
    expect((['requests', 'streams', 'probes', 'bytes'] as const).map((by) => inFlight.refused(by))).toEqual([
      1, 1, 1, 1,
    ]);
  });

  it('takes what has no body while all bytes are taken', () => {
    const inFlight = new InFlight(BOUNDS);
    admitted(inFlight, 'streams', 0).hold(1_000);
    expect(inFlight.admit('requests', 1)).toBe('bytes');
    admitted(inFlight, 'requests', 0);
  });
});

describe('a slot', () => {
  it('grows while there is room, and gives all back', () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'requests', 0);
    expect(slot.cover(70)).toBe(true);
    expect(slot.cover(30)).toBe(true);
    expect(slot.cover(101)).toBe(false);
    expect(inFlight.refused('bytes')).toBe(1);
    expect(inFlight.count('bytes')).toBe(70);
    slot.release();
    expect(counts(inFlight)).toEqual([0, 0, 0, 0]);
  });

  it('counts what a stream holds, as it grows and shrinks', () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'streams', 0);
    slot.hold(500);
    expect(inFlight.count('bytes')).toBe(500);
    slot.hold(20);
    expect(inFlight.count('bytes')).toBe(20);
    slot.release();
    expect(counts(inFlight)).toEqual([0, 0, 0, 0]);
  });

  it('is kept until the exchange is over and all work has ended, failed work too', async () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'requests', 10);
    let fail: (error: Error) => void = () => undefined;
    const work = slot.during(() => new Promise((_, reject) => (fail = reject)));
    slot.release();
    expect(counts(inFlight)).toEqual([1, 0, 0, 10]);
    fail(new Error('the store is away'));
    await expect(work).rejects.toThrow('the store is away');
    expect(counts(inFlight)).toEqual([0, 0, 0, 0]);
  });

  it('is taken again by work that begins when the exchange is over, and given back once each time', async () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'streams', 0);
    slot.hold(30);
    slot.release();
    slot.hold(40);
    expect(counts(inFlight)).toEqual([0, 0, 0, 0]);
    await slot.during(async () => expect(counts(inFlight)).toEqual([0, 1, 0, 40]));
    expect(counts(inFlight)).toEqual([0, 0, 0, 0]);
  });
});

describe('a caller’s share of the streams', () => {
  it('is half of them, rounded up, and given back with each', () => {
    const inFlight = new InFlight({ ...BOUNDS, streams: 5 });
    const streams = [0, 1, 2, 3].map(() => admitted(inFlight, 'streams', 0));
    expect(streams.map((slot) => slot.claim('a'))).toEqual([true, true, true, false]);
    expect(streams[3]?.claim('b')).toBe(true);
    expect(inFlight.refused('streams')).toBe(1);
    streams[0]?.release();
    const next = admitted(inFlight, 'streams', 0);
    expect(next.claim('a')).toBe(true);
    // Work that outlives its sender takes the place again, in the same share.
    streams[1]?.release();
    streams[1]?.retain();
    expect(admitted(inFlight, 'streams', 0).claim('a')).toBe(false);
  });

  it('is not for requests', () => {
    const inFlight = new InFlight({ ...BOUNDS, streams: 2 });
    for (let i = 0; i < BOUNDS.requests; i++) {
      expect(admitted(inFlight, 'requests', 0).claim('a')).toBe(true);
    }
    expect(admitted(inFlight, 'streams', 0).claim('a')).toBe(true);
  });
});
