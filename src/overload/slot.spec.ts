import { describe, expect, it } from '@jest/globals';
import { BOUNDED, type RequestKind } from './bounds.js';
import { InFlight } from './in-flight.js';
import type { Refusal } from './refusal.js';
import { Slot } from './slot.js';

const BOUNDS = { requests: 2, streams: 2, probes: 1, bytes: 100, answers: 100 };

function admitted(inFlight: InFlight, kind: RequestKind, caller?: string): Slot {
  return toSlot(inFlight.admit({ kind, bytes: 0, caller }));
}

function toSlot(outcome: Slot | Refusal): Slot {
  if (!(outcome instanceof Slot)) throw new Error(`refused by ${outcome.bound}`);
  return outcome;
}

const counts = (inFlight: InFlight) => BOUNDED.map((of) => inFlight.count(of));
const NOTHING = [0, 0, 0, 0, 0];

describe('a slot', () => {
  it('grows while there is room, and gives all back', () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'requests');
    expect(slot.cover(70)).toBeUndefined();
    expect(slot.cover(30)).toBeUndefined();
    expect(slot.cover(101)).toMatchObject({ code: 'OVERLOADED' });
    expect(inFlight.refused('bytes')).toBe(1);
    expect(inFlight.count('bytes')).toBe(70);
    slot.release();
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('counts what a stream holds, as it grows and shrinks', () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'streams');
    expect(slot.hold(500)).toBeUndefined();
    expect(inFlight.count('bytes')).toBe(500);
    slot.hold(20);
    expect(inFlight.count('bytes')).toBe(20);
    slot.release();
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('says that a stream holds too much once its caller’s hold more than half of all, and it grows', () => {
    const inFlight = new InFlight(BOUNDS);
    const one = admitted(inFlight, 'streams', 'a');
    expect(one.hold(50)).toBeUndefined();
    expect(one.hold(51)).toMatchObject({ code: 'OVERLOADED' });
    expect(one.hold(51)).toBeUndefined();
    expect(admitted(inFlight, 'streams', 'b').hold(50)).toBeUndefined();
  });

  it('is kept until the exchange is over and all work has ended, failed work too', async () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'requests');
    slot.cover(10);
    let fail: (error: Error) => void = () => undefined;
    const work = slot.during(() => new Promise((_, reject) => (fail = reject)));
    slot.over();
    expect(counts(inFlight)).toEqual([1, 0, 0, 10, 0]);
    fail(new Error('the store is away'));
    await expect(work).rejects.toThrow('the store is away');
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('is taken again by work that begins when the exchange is over, and given back once each time', async () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'streams');
    slot.hold(30);
    slot.over();
    slot.hold(40);
    expect(counts(inFlight)).toEqual(NOTHING);
    await slot.during(async () => expect(counts(inFlight)).toEqual([0, 1, 0, 40, 0]));
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('has no place while its body is waited for, and takes it again if there is one', () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'requests');
    slot.cover(10);
    slot.park();
    slot.park();
    expect(counts(inFlight)).toEqual([0, 0, 0, 10, 0]);
    const others = [admitted(inFlight, 'requests'), admitted(inFlight, 'requests')];
    expect(slot.unpark()).toMatchObject({ code: 'OVERLOADED' });
    others[0]?.release();
    expect(slot.unpark()).toBeUndefined();
    expect(slot.unpark()).toBeUndefined();
    expect(inFlight.count('requests')).toBe(2);
    slot.release();
    others[1]?.release();
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('that ends while its body is waited for gives back what it has, and no more', () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'requests');
    slot.cover(10);
    slot.park();
    slot.over();
    slot.over();
    expect(counts(inFlight)).toEqual(NOTHING);
  });

  it('whose client left while it was found out who that is leaves nothing counted for anyone', () => {
    const inFlight = new InFlight(BOUNDS);
    const slot = admitted(inFlight, 'requests', 'address');
    slot.over();
    expect(slot.claim('key')).toBeUndefined();
    expect(counts(inFlight)).toEqual(NOTHING);
    expect(inFlight.callerCount).toBe(0);
  });

  it('tells its connection when it has a place', () => {
    const places: boolean[] = [];
    const connection = { setBusy: (busy: boolean) => void places.push(busy) };
    const inFlight = new InFlight(BOUNDS);
    const slot = toSlot(inFlight.admit({ kind: 'requests', bytes: 0, caller: 'a', connection }));
    slot.park();
    slot.unpark();
    slot.answered(3);
    slot.over();
    expect(places).toEqual([true, false, true, false]);
  });
});
