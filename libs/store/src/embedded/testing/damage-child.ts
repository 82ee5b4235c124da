import { closeSync, copyFileSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedStore } from '../embedded-store.js';
import { compare, facts, fill, type Model } from './full-store.js';

/**
 * A program for damage.all.spec.ts.
 *
 *   fill DIRECTORY killed|closed    fills a store in it, and then dies or closes the store
 *   ask DIRECTORY                   prints the facts of a copy of it
 *   try DIRECTORY MODEL FLIPS       for each of FLIPS (JSON): alters that byte in a copy, starts on it, starts again
 *                                   and asks all questions; prints a line with both verdicts
 */
/** The offset of a byte, and the bits to flip in it. */
export type Flip = readonly [number, number];

export interface Verdict {
  /** Why the start was refused. */
  readonly refusal?: string;
  readonly wrong?: readonly string[];
  /** How many questions failed with STORE_DATA_LOST. */
  readonly refused?: number;
}

const [verb, directory = '', ...rest] = process.argv.slice(2);
const say = (line: unknown): void => void writeSync(1, `${JSON.stringify(line)}\n`);
/** Small enough that only part of the journal is checkpointed while the store is filled. */
const CHECKPOINT_BYTES = 40_000;

function copyOf(flip?: Flip): string {
  const copy = `${directory}-copy-${process.pid}`;
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy);
  const file = join(copy, 'data.mdb');
  copyFileSync(join(directory, 'data.mdb'), file);
  if (flip) {
    const [offset, mask] = flip;
    const byte = readFileSync(file)[offset] as number;
    const fd = openSync(file, 'r+');
    writeSync(fd, Buffer.of(byte ^ mask), 0, 1, offset);
    closeSync(fd);
  }
  return copy;
}

async function tryFlip(model: Model, flip: Flip): Promise<Verdict[]> {
  const dataDir = copyOf(flip);
  const verdicts: Verdict[] = [];
  for (const asked of [false, true]) {
    try {
      const store = await EmbeddedStore.open({ dataDir });
      // The questions change the store, so only the second start asks them.
      verdicts.push(asked ? compare(model, await facts(store, model)) : {});
      await store.close();
    } catch (error) {
      verdicts.push({ refusal: (error as Error).message });
    }
  }
  return verdicts;
}

if (verb === 'fill') {
  const store = await EmbeddedStore.open({ dataDir: directory, checkpointBytes: CHECKPOINT_BYTES });
  await fill(store);
  if (rest[0] === 'killed') process.kill(process.pid, 'SIGKILL');
  await store.close();
} else if (verb === 'ask') {
  const copy = copyOf();
  const store = await EmbeddedStore.open({ dataDir: copy });
  say({ facts: await facts(store) });
  await store.close();
  rmSync(copy, { recursive: true });
} else {
  const [model = '', flips = ''] = rest;
  const known = JSON.parse(readFileSync(model, 'utf8')) as Model;
  for (const flip of JSON.parse(flips) as Flip[]) say(await tryFlip(known, flip));
  rmSync(`${directory}-copy-${process.pid}`, { recursive: true, force: true });
}
