import type { Damage } from '../../libs/store/src/embedded/database/damage.js';
import { Database } from '../../libs/store/src/embedded/database/database.js';
import { EmbeddedStore } from '../../libs/store/src/embedded/embedded-store.js';
import { Engine } from '../../libs/store/src/embedded/engine/engine.js';
import type { Random } from '../support/random.js';
import type { MemoryEnvironment, SimulatedDisk } from './memory-environment.js';
import { Violation } from './notes.js';
import type { Limits } from './limits.js';

export interface Time {
  /** The wall clock, which may be set back. */
  now: number;
  latest: number;
  /** The monotonic clock. */
  passed: number;
}

export interface Place {
  readonly environment: MemoryEnvironment;
  readonly disk: SimulatedDisk;
  /** The damage that inspecting the rows has found. */
  readonly damage?: Damage;
}

/** Calls and changes in the background that are not done after this many turns count as hanging. */
export const PATIENCE = 5_000;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function openStore(
  { environment, disk, damage }: Place,
  { maxRecordBytes, sizes, ...limits }: Limits,
  time: Time,
  random: Random,
): Promise<EmbeddedStore> {
  const options = {
    ...limits,
    ...(maxRecordBytes !== undefined && { maxRecordBytes }),
    clock: { now: () => time.now, monotonic: () => time.passed },
    random: {
      id: (bytes: number) => Buffer.from(random.bytes(bytes)).toString('hex'),
      seed: () => random.bytes(16),
    },
  };
  const place = {
    database: new Database(environment, damage, sizes),
    disk,
    lock: { release: () => undefined },
  };
  return EmbeddedStore.on(options, (session) => Engine.on(place, session));
}

/** Runs waiting changes in an environment with `run` until the work is done. */
export async function pump<T>(
  work: Promise<T>,
  environment: MemoryEnvironment,
  run = () => environment.run(true),
): Promise<T> {
  const state = { done: false };
  const mark = () => void (state.done = true);
  work.then(mark, mark);
  for (let turns = 0; !state.done; turns++) {
    if (turns > PATIENCE) throw new Violation('opening, closing or copying hangs');
    if (environment.canRun) run();
    environment.tell();
    await turn();
  }
  return work;
}
