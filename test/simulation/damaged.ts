import { Damage } from '../../libs/store/src/embedded/database/damage.js';
import { JournalDecoder } from '../../libs/store/src/embedded/journal/journal.js';
import {
  DamagedRow,
  RowState,
  rowState,
  sealSeed,
  unsealed,
} from '../../libs/store/src/embedded/database/table.js';
import type { EmbeddedStore } from '../../libs/store/src/embedded/embedded-store.js';
import type { Random } from '../support/random.js';
import type { Callers } from './callers.js';
import type { Call } from './calls.js';
import { expectedNow, refused } from './expected.js';
import { ITEMS } from './items.js';
import { refusalOf } from './judge.js';
import { MemoryEnvironment, type SimulatedDisk } from './memory-environment.js';
import type { Model } from './model.js';
import { Violation, type Notes } from './notes.js';
import { openStore, pump, type Time } from './open-store.js';
import type { Limits } from './limits.js';
import { send } from './store-calls.js';

/** Tables in which missing rows are detected, and tables in which altered rows are detected. */
const MISSED = ['states', 'blocks', 'journal', 'marks', 'removed', 'hidden'];
const CHECKED = [
  'states',
  'blocks',
  'journal',
  'marks',
  'block-counts',
  'leases',
  'due',
  'dead',
  'lanes',
  'removed',
  'hidden',
];

interface System {
  readonly model: Model;
  readonly callers: Callers;
  readonly limits: Limits;
  readonly time: Time;
  readonly random: Random;
  readonly notes: Notes;
}

/**
 * Removes or alters a row on a copy of the disk. Each set must then either answer as before or be reported as
 * permanently lost.
 */
export async function assertMissed(disk: SimulatedDisk, { random, ...system }: System): Promise<void> {
  const damaged = disk.copy();
  const generation = damageOne(damaged, random);
  if (generation === undefined) return;
  const before = await lostSets(damaged, { random, ...system });
  const after = await lostSets(damaged, { random, ...system });
  for (const [name, { filter }] of system.model.sets) {
    if (before.has(name) && filter.generation !== generation)
      throw new Violation(`${name} is lost, though a row of another set was damaged`);
    if (before.has(name) && !after.has(name))
      throw new Violation(`${name} is no longer lost after a restart`);
    if (before.has(name)) system.notes.tally('lost');
  }
  system.notes.tally('damaged');
}

/** Returns the row's generation. Undefined if there was no row to damage. */
function damageOne(disk: SimulatedDisk, random: Random): string | undefined {
  const removes = random.below(2) === 0;
  const names = (removes ? MISSED : CHECKED).filter((name) => (disk.tables.get(name)?.keys.length ?? 0) > 0);
  if (names.length === 0) return undefined;
  const name = random.pick(names);
  const table = disk.table(name);
  const key = random.pick(table.keys);
  const value = Buffer.from(table.values.get(key) as Buffer);
  const generation =
    name === 'journal'
      ? new JournalDecoder().decode(unsealed(value))?.generation
      : Buffer.from(key, 'latin1').toString('hex', 0, 8);
  // Without the names nothing can be opened.
  if (generation === undefined || /^0*$/.test(generation)) return undefined;
  const at = random.below(value.length);
  value[at] = (value[at] as number) ^ (1 << random.below(8));
  table.set(key, removes ? undefined : value);
  return generation;
}

/** Opens a store and compares each set's answers. Returns the lost sets' names. */
async function lostSets(disk: SimulatedDisk, { limits, time, random, callers, model }: System) {
  const environment = new MemoryEnvironment(disk, { ran: () => undefined, ended: () => undefined });
  const place = { environment, disk, damage: inspected(disk) };
  const store = await pump(openStore(place, limits, time, random), environment);
  const lost = new Set<string>();
  for (const [set, { filter }] of model.sets) {
    const calls = [
      callers.callOf({ verb: 'open', set }),
      callers.callOf({ verb: 'check', set, items: ITEMS }),
      callers.callOf({ verb: 'describe', set }),
      ...(filter.kind === 'visited-set' ? [callers.callOf({ verb: 'dead-letters', set })] : []),
    ];
    for (const call of calls)
      if (!(await pump(answersRight(store, callers, model, call), environment))) lost.add(set);
  }
  // Closing would checkpoint, and a checkpoint deletes the records that show a loss.
  await pump(store.close(), environment);
  return lost;
}

/** Whether a call returns as if nothing were damaged. False if its set is reported as lost. */
async function answersRight(
  store: EmbeddedStore,
  callers: Callers,
  model: Model,
  call: Call,
): Promise<boolean> {
  const expected = expectedNow(model, call);
  try {
    const { value } = await send(store, callers.filterOf(call), call, () => undefined);
    if (expected && !expected.matches(value))
      throw new Violation(`damaged, ${call.set} answers ${call.verb}: ${JSON.stringify(value)}`);
    return true;
  } catch (error) {
    const code = refusalOf(error);
    if (code === 'STORE_DATA_LOST') return false;
    if (code !== undefined && expected?.text === refused(code).text) return true;
    throw error;
  }
}

/** The damage that inspecting all rows finds, like inspect-data.ts for a file. */
function inspected({ tables }: SimulatedDisk): Damage {
  const damage = new Damage();
  for (const [name, { values }] of tables) {
    for (const [text, value] of values) {
      const key = Buffer.from(text, 'latin1');
      const state = rowState(sealSeed(name), key, value);
      if (name !== 'meta' && name !== 'log' && state !== RowState.Whole)
        damage.add(new DamagedRow(name, key, state));
    }
  }
  return damage;
}
