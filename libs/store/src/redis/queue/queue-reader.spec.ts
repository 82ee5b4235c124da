import { describe, expect, it } from '@jest/globals';
import { QueueReader, type RawPage } from './queue-reader.js';
import { exportLogScript } from '../scripts/transfer.js';

const PAGE = 250;
/** More pages than any of these tests reads. */
const MOST_PAGES = 1_000;

describe('QueueReader', () => {
  /** A queue with `length` chunks of one entry each. With each read, other calls append a page of chunks. */
  const growingQueue = (length: number) => {
    const asked = { pages: 0, rest: [] as unknown[] };
    let place = 0;
    const reader = new QueueReader((script, [from]): Promise<RawPage> => {
      if (script !== exportLogScript) {
        asked.rest.push(from);
        return Promise.resolve({ next: '0', run: 'a', removals: 0, bytes: Buffer.alloc(0) });
      }
      if (asked.pages === MOST_PAGES) throw new Error('it reads on and on');
      const end = length + PAGE * asked.pages;
      asked.pages++;
      place += PAGE;
      const next = `${place} 0 0 1 ${end}`;
      return Promise.resolve({ next, run: 'a', removals: 0, bytes: Buffer.alloc(0) });
    });
    return { reader, asked };
  };

  it('reads a growing queue once, up to its initial length, and then each other place', async () => {
    const { reader, asked } = growingQueue(10 * PAGE);
    for await (const { entries } of reader.once()) expect(entries).toEqual([]);
    expect(asked).toEqual({ pages: 10, rest: ['leases', 'delayed', 'dead'] });
  });

  it('starts over when another run of the server replies', async () => {
    const runs = ['a', 'a', 'b', 'b', 'b', 'b', 'b', 'b', 'b', 'b'];
    const asked: unknown[] = [];
    const reader = new QueueReader((script, [from]): Promise<RawPage> => {
      const run = runs.shift();
      if (run === undefined) throw new Error('it reads on and on');
      const isWaiting = script === exportLogScript;
      asked.push(isWaiting ? `waiting ${String(from)}` : from);
      return Promise.resolve({
        next: isWaiting ? '7 0 0 0 7' : '0',
        run,
        removals: 0,
        bytes: Buffer.alloc(0),
      });
    });
    for await (const { entries } of reader.once()) expect(entries).toEqual([]);
    const all = ['leases', 'delayed', 'dead'];
    expect(asked).toEqual(['waiting ', 'leases', 'delayed', 'delayed', 'dead', 'waiting ', ...all]);
  });
});
