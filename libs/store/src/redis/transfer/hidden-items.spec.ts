import { describe, expect, it } from '@jest/globals';
import { HiddenItems } from './hidden-items.js';

const hashOf = (item: number) => Buffer.alloc(16, item);

/** A segment with two pieces. Its items are numbers, and odd ones belong to piece 1. */
class Segment {
  removals = 0;
  run = 'a';
  readonly hidden = new Map<number, number>();
  /** Cursors requested so far. */
  readonly asked: string[] = [];
  /** Called before each page. */
  meanwhile = (): void => undefined;

  readonly items = new HiddenItems(
    (_, cursor) => {
      this.meanwhile();
      this.asked.push(cursor);
      const all = [...this.hidden].sort(([one], [other]) => one - other);
      const [item] = all.filter(([number]) => number > Number(cursor));
      const next = item && item !== all.at(-1) ? String(item[0]) : '0';
      const bytes = Buffer.alloc(item ? 20 : 0);
      if (item) {
        hashOf(item[0]).copy(bytes);
        bytes.writeUInt32BE(item[1], 16);
      }
      return Promise.resolve({ next, run: this.run, removals: this.removals, bytes });
    },
    (hash) => (hash[0] as number) % 2,
  );

  hide(item: number): void {
    this.hidden.set(item, 100 + item);
    this.removals++;
  }

  /** The items that an export of a piece hides. `at`: called when the cells are read. */
  async exported(piece: number, at = (): void => undefined): Promise<number[]> {
    const { hidden } = await this.items.with(0, piece, () => {
      at();
      return Promise.resolve({ removals: this.removals });
    });
    for (const { hash, until } of hidden) expect(until).toBe(100 + (hash[0] as number));
    return hidden.map(({ hash }) => hash[0] as number).sort((one, other) => one - other);
  }
}

describe('HiddenItems', () => {
  it('reads a segment once for all its pieces while nothing is removed', async () => {
    const segment = new Segment();
    for (const item of [1, 2, 3, 4]) segment.hide(item);
    expect(await segment.exported(0)).toEqual([2, 4]);
    expect(await segment.exported(1)).toEqual([1, 3]);
    expect(segment.asked).toEqual(['0', '1', '2', '3']);
  });

  it('hides items that were hidden when the cells were read, although they were hidden or shown during the export', async () => {
    const segment = new Segment();
    for (const item of [4, 6, 8]) segment.hide(item);
    segment.meanwhile = () => {
      if (segment.asked.length === 2) segment.hide(2);
    };
    const late = () => {
      segment.hide(10);
      // Shows item 6 before a page can list it again.
      segment.meanwhile = () => void segment.hidden.delete(6);
    };
    expect(await segment.exported(0, late)).toEqual([2, 4, 6, 8, 10]);
  });

  it('reads again for the next piece only if something was removed', async () => {
    const segment = new Segment();
    segment.hide(1);
    expect(await segment.exported(0)).toEqual([]);
    segment.hide(3);
    expect(await segment.exported(1)).toEqual([1, 3]);
    expect(await segment.exported(1)).toEqual([1, 3]);
    expect(segment.asked).toHaveLength(3);
  });

  it('starts over when another run of the server replies', async () => {
    const segment = new Segment();
    for (const item of [2, 4, 6]) segment.hide(item);
    segment.meanwhile = () => {
      if (segment.asked.length === 2) segment.run = 'b';
    };
    expect(await segment.exported(0)).toEqual([2, 4, 6]);
    expect(segment.asked).toEqual(['0', '2', '4', '0', '2', '4']);
  });
});
