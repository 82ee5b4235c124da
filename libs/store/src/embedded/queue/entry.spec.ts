import { expect, it } from '@jest/globals';
import { MAX_ATTEMPT, PRIORITIES } from '../../port/index.js';
import { entriesOf, EntryPacker, levelOf } from './entry.js';

it.each(PRIORITIES)('an entry of %s priority keeps it, for any number of leases', (priority) => {
  const packer = new EntryPacker();
  const made = { birth: 2 ** 47, discoveredAt: 2 ** 32 - 1, level: levelOf(priority) };
  packer.addNew(Uint32Array.of(1, 2, 3, 2 ** 32 - 1), 0, made, 'https://é.example/');
  const [entry] = entriesOf(Buffer.from(packer.packed()));
  packer.clear();
  for (const attempt of [0, 1, MAX_ATTEMPT, MAX_ATTEMPT + 1, 2 ** 31]) packer.add(entry!, { attempt });
  packer.add(entry!, { discoveredAt: 7 });
  const found = entriesOf(packer.packed());
  expect(found.map((one) => one.attempt)).toEqual([0, 1, MAX_ATTEMPT, MAX_ATTEMPT, MAX_ATTEMPT, 0]);
  expect(new Set(found.map((one) => one.priority))).toEqual(new Set([priority]));
  expect(found.map((one) => one.discoveredAt)).toEqual([...Array<number>(5).fill(2 ** 32 - 1), 7]);
  expect(found.every(({ text, birth }) => text === 'https://é.example/' && birth === 2 ** 47)).toBe(true);
});
