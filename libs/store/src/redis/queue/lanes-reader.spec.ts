import { describe, expect, it } from '@jest/globals';
import { LANE_GROUPS, LANE_NUMBERS, type LaneRecord } from '../scripts/lane-records.js';
import { exportLanesScript } from '../scripts/transfer-hosts.js';
import { LanesReader } from './lanes-reader.js';
import type { RawPage } from './queue-reader.js';

const ID = Buffer.alloc(8, 1);
const NUMBER_BYTES = 6;

const packed = (numbers: readonly (number | undefined)[]): Buffer => {
  const bytes = Buffer.alloc(NUMBER_BYTES * numbers.length);
  for (const [n, number = 0] of numbers.entries()) bytes.writeUIntBE(number, NUMBER_BYTES * n, NUMBER_BYTES);
  return bytes;
};

/** A lane as exportLanesScript returns it. */
function laneWith(counts: Partial<LaneRecord>): Buffer {
  const record = Buffer.concat([
    packed(LANE_NUMBERS.map((name) => counts[name])),
    Buffer.of(2 ** LANE_GROUPS.length - 1),
    packed(LANE_GROUPS.flat().map((name) => counts[name])),
  ]);
  return Buffer.concat([packed([0, 0, 0]), ID, Buffer.of(0, record.length), record]);
}

describe('LanesReader', () => {
  it.each<[Partial<LaneRecord>, string[]]>([
    [{ scheduled: 5 }, []],
    [{ leased: 1, scheduled: 5 }, ['leases']],
    [{ delayed: 1 }, ['delayed']],
    [{ dead: 1, scheduled: 5 }, ['dead']],
  ])('scans only the places where a lane with these entries has some: %j', async (counts, places) => {
    const asked: unknown[] = [];
    const reader = new LanesReader((script, [place]): Promise<RawPage> => {
      const isLane = script === exportLanesScript;
      if (!isLane) asked.push(place);
      const bytes = isLane ? laneWith(counts) : Buffer.alloc(0);
      return Promise.resolve({ next: '0', run: 'a', removals: 0, bytes });
    });
    for await (const { entries } of reader.onceIn(ID)) expect(entries).toEqual([]);
    expect(asked).toEqual(places);
  });
});
