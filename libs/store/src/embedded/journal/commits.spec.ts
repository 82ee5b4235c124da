import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SYSTEM_CLOCK } from '../../clock.js';
import { Commits } from './commits.js';
import { Database } from '../database/database.js';
import { JOURNAL_LAST } from './journal.js';
import { numberKey } from '../database/keys.js';
import { Memory } from '../filters/memory.js';
import { Workbench } from '../testing/fixtures.js';

const bench = new Workbench();
let database: Database;
beforeEach(async () => {
  database = Database.open(await bench.dataDir());
});
afterEach(async () => {
  await database.close();
  await bench.tidy();
});

describe('a change', () => {
  /** Commits over a memory with `sequence` journal records and a database with three. */
  const commitsAt = async (sequence: number): Promise<Commits> => {
    await database.transaction(() => void database.meta.putSync(JOURNAL_LAST, numberKey(3)), false);
    const memory = new Memory(SYSTEM_CLOCK, database.sizes.headRows);
    memory.sequence = sequence;
    return new Commits(database, memory, false);
  };

  it('runs if memory and the database have the same journal', async () => {
    const commits = await commitsAt(3);
    expect(await commits.run(() => 'made')).toBe('made');
    expect(commits.failed).toBe(false);
  });

  it.each([
    ['ahead of', 4],
    ['behind', 2],
  ])('does not run if memory is %s the database, nor does a later one', async (_, sequence) => {
    const commits = await commitsAt(sequence);
    let made = 0;
    for (let turn = 0; turn < 2; turn++) {
      await expect(commits.run(() => made++)).rejects.toMatchObject({ name: 'CommitError' });
    }
    expect([made, commits.failed]).toEqual([0, true]);
  });
});
