import { expect, it } from '@jest/globals';
import { Space } from './space.js';

it('a call during a check for free space waits for its result', async () => {
  const disk = {
    full: true,
    freeBytes: () => Promise.resolve(disk.full ? 0 : Infinity),
    refuses: () => Promise.resolve(disk.full),
  };
  const clock = { time: 0, now: () => 0, monotonic: () => clock.time };
  const space = new Space(disk, clock);
  expect(await space.isLacking()).toBe(true);
  disk.full = false;
  await expect(space.assert()).rejects.toMatchObject({ code: 'STORE_FULL' });
  clock.time += 60_000;
  await Promise.all([space.assert(), space.assert()]);
});
