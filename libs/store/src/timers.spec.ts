import { expect, it } from '@jest/globals';
import { MovedClock } from '../../../test/support/moved-clock.js';
import { SYSTEM_CLOCK } from './clock.js';
import { after, every } from './timers.js';

const HOUR_MS = 3_600_000;

/** Resolves when all due timers have fired. */
const dueRung = (clock: MovedClock): Promise<void> =>
  new Promise((resolve) => {
    // Two turns, because a due timer schedules the timer that fires.
    after(clock, 0, () => after(clock, 0, resolve));
  });

it('a timer fires once, when the clock is moved to its end', async () => {
  const clock = new MovedClock();
  const rung: string[] = [];
  after(clock, HOUR_MS, () => rung.push('one hour'));
  after(clock, 2 * HOUR_MS, () => rung.push('two hours'));
  await dueRung(clock);
  expect(rung).toEqual([]);
  clock.advance(HOUR_MS);
  await dueRung(clock);
  expect(rung).toEqual(['one hour']);
  clock.advance(HOUR_MS);
  await dueRung(clock);
  expect(rung).toEqual(['one hour', 'two hours']);
});

it('a cancelled timer does not fire, and a repeating one fires once after a long move', async () => {
  const clock = new MovedClock();
  let [cancelled, rung] = [0, 0];
  const cancel = after(clock, HOUR_MS, () => cancelled++);
  const end = every(clock, HOUR_MS, () => rung++);
  cancel();
  clock.advance(24 * HOUR_MS);
  await dueRung(clock);
  expect([cancelled, rung]).toEqual([0, 1]);
  clock.advance(HOUR_MS);
  await dueRung(clock);
  end();
  clock.advance(24 * HOUR_MS);
  await dueRung(clock);
  expect([cancelled, rung]).toEqual([0, 2]);
});

it('a clock that is set back delays no timer', async () => {
  const clock = new MovedClock();
  let rung = 0;
  after(clock, 1_000, () => rung++);
  clock.advance(-HOUR_MS);
  clock.advance(1_000);
  await dueRung(clock);
  expect(rung).toBe(1);
});

it('a timer on the system clock runs in real time', async () => {
  const began = SYSTEM_CLOCK.monotonic();
  // `after` doesn't keep the process alive, so the test has to.
  const alive = setInterval(() => undefined, 1_000);
  await new Promise<void>((resolve) => void after(SYSTEM_CLOCK, 20, resolve));
  clearInterval(alive);
  const waited = SYSTEM_CLOCK.monotonic() - began;
  expect(waited >= 20).toBe(true);
});
