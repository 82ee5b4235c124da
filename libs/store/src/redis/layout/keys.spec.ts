import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { allKeys, CATALOGUE, segmentKeys, segmentTags } from './keys.js';

describe('key layout', () => {
  it('has not changed, so stored filters are found', () => {
    expect(segmentTags('0123456789abcdef', 1)).toEqual(['0123456789abcdef.0.038527']);
    expect(allKeys(segmentKeys('0123456789abcdef.0.0'), true)).toEqual([
      'unseen:{0123456789abcdef.0.0}:cells',
      'unseen:{0123456789abcdef.0.0}:meta',
      'unseen:{0123456789abcdef.0.0}:operations:caller:current',
      'unseen:{0123456789abcdef.0.0}:operations:caller:previous',
      'unseen:{0123456789abcdef.0.0}:operations:made:current',
      'unseen:{0123456789abcdef.0.0}:operations:made:previous',
      'unseen:{0123456789abcdef.0.0}:queue:chunks',
      'unseen:{0123456789abcdef.0.0}:queue:leases',
      'unseen:{0123456789abcdef.0.0}:queue:ends',
      'unseen:{0123456789abcdef.0.0}:queue:delayed',
      'unseen:{0123456789abcdef.0.0}:queue:dead',
      'unseen:{0123456789abcdef.0.0}:queue:marks:new',
      'unseen:{0123456789abcdef.0.0}:queue:marks:old',
    ]);
    const layers = [
      { number: 1, pieces: 1 },
      { number: 2, pieces: 2 },
    ];
    expect(allKeys(segmentKeys('0123456789abcdef.0.0'), false, layers).slice(1, 8)).toEqual([
      'unseen:{0123456789abcdef.0.0}:cells:1:0',
      'unseen:{0123456789abcdef.0.0}:cells:2:0',
      'unseen:{0123456789abcdef.0.0}:cells:2:1',
      'unseen:{0123456789abcdef.0.0}:removed:1',
      'unseen:{0123456789abcdef.0.0}:removed:2',
      'unseen:{0123456789abcdef.0.0}:hidden:1',
      'unseen:{0123456789abcdef.0.0}:hidden:2',
    ]);
    expect(CATALOGUE.filters).toBe('unseen:{catalogue}:filters');
    expect(CATALOGUE.names('visited-set')).toBe('unseen:{catalogue}:names:visited-set');
  });

  it('keeps all keys of a segment, and all of the catalogue, in one slot', () => {
    for (const tag of segmentTags('00ff00ff00ff00ff', 7)) {
      expect(
        new Set(allKeys(segmentKeys(tag), true, [{ number: 7, pieces: 3 }]).map(calculateSlot)).size,
      ).toBe(1);
    }
    const { caller, made } = CATALOGUE.operations;
    const catalogue = [
      CATALOGUE.filters,
      CATALOGUE.names('filter'),
      CATALOGUE.unfinished,
      CATALOGUE.usage,
      CATALOGUE.syncs,
      ...Object.values({ ...caller, ...made }),
    ];
    expect(new Set(catalogue.map(calculateSlot)).size).toBe(1);
  });

  it.each([1, 2, 3, 12, 48, 200, 4_096, 16_384])(
    'puts segment i of %i into the i-th equal range of slots',
    (segments) => {
      for (let trial = 0; trial < 5; trial++) {
        const generation = `${trial}`.repeat(16);
        const slots = segmentTags(generation, segments).map((tag) => calculateSlot(tag));
        const first = (segment: number): number => Math.round((segment * 16_384) / segments);
        expect(slots.filter((slot, i) => slot < first(i) || slot >= first(i + 1))).toEqual([]);
      }
    },
  );

  it('makes 65,536 different tags quickly', () => {
    expect(new Set(segmentTags('0123456789abcdef', 65_536)).size).toBe(65_536);
  });

  it('spreads filters of one segment over the slots', () => {
    const thirds = [0, 0, 0];
    for (let n = 0; n < 300; n++) {
      const [tag = ''] = segmentTags(randomBytes(8).toString('hex'), 1);
      const third = Math.floor((3 * calculateSlot(tag)) / 16_384);
      thirds[third] = (thirds[third] as number) + 1;
    }
    expect(Math.min(...thirds)).toBeGreaterThan(50);
  });

  it('puts no segment in a slot of the next master if masters have equal ranges', () => {
    // The ranges that redis-cli gives to three masters: 0-5460, 5461-10922, 10923-16383.
    const masterOf = (slot: number): number => (slot < 5_461 ? 0 : slot < 10_923 ? 1 : 2);
    for (let trial = 0; trial < 10_000; trial++) {
      const tags = segmentTags(trial.toString(16).padStart(16, '0'), 12);
      expect(tags.map((tag) => masterOf(calculateSlot(tag))).join('')).toBe('000011112222');
    }
  });

  it.each([12, 48, 200])('gives each of 3 masters its share of %i segments within 10 %%', (segments) => {
    const shares = [0, 0, 0];
    for (const tag of segmentTags('a1b2c3d4e5f60718', segments)) {
      const master = Math.min(2, Math.floor(calculateSlot(tag) / (16_384 / 3)));
      shares[master] = (shares[master] as number) + 1;
    }
    for (const share of shares) {
      expect(Math.abs(share - segments / 3)).toBeLessThanOrEqual((0.1 * segments) / 3);
    }
  });
});
