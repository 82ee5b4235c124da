import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { after, type Syncs } from '#store';
import { Lifecycle } from '../http/lifecycle.js';
import { MovedClock } from '../../test/support/moved-clock.js';
import { until } from '../../test/support/until.js';
import { SyncTender } from './sync-tender.js';

describe('maintenance of syncs', () => {
  let tries: number;
  let fails: boolean;
  let lines: object[];
  let tender: SyncTender;
  let clock: MovedClock;
  let lifecycle: Lifecycle;

  beforeEach(() => {
    tries = 0;
    fails = false;
    lines = [];
    const tend = async (): Promise<void> => {
      tries++;
      await Promise.resolve();
      if (fails) throw new Error('no store');
    };
    const logger = pino({}, { write: (text: string) => void lines.push(JSON.parse(text) as object) });
    clock = new MovedClock();
    lifecycle = new Lifecycle();
    const store = { syncs: { tend } as Syncs };
    tender = new SyncTender(store, { syncIdleMs: 10_000 }, logger, lifecycle, clock);
  });

  it('logs a failure once, and again only after a success', async () => {
    fails = true;
    for (let n = 0; n < 3; n++) await tender.tend();
    expect([tries, lines.length]).toEqual([3, 1]);
    expect(lines[0]).toMatchObject({ msg: 'sync maintenance failed', err: { message: 'no store' } });
    fails = false;
    await tender.tend();
    fails = true;
    await tender.tend();
    expect([tries, lines.length]).toEqual([5, 2]);
  });

  it('runs periodically until the service begins to end', async () => {
    tender.onApplicationBootstrap();
    for (let n = 1; n <= 3; n++) {
      clock.advance(2_500);
      await until('the maintenance has run again', async () => tries === n);
    }
    lifecycle.beginShutdown();
    await tender.beforeApplicationShutdown();
    clock.advance(3_600_000);
    let later = false;
    after(clock, 0, () => (later = true));
    await until('a later timer has fired', async () => later);
    expect(tries).toBe(3);
  });

  it('runs one at a time, and the service waits for it before it ends', async () => {
    const both = [tender.tend(), tender.tend()];
    let over = false;
    const end = tender.beforeApplicationShutdown().then(() => (over = true));
    expect([tries, over]).toEqual([1, false]);
    await Promise.all([...both, end]);
    await tender.tend();
    expect(tries).toBe(2);
  });
});
