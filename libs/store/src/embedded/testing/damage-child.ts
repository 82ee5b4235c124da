import { closeSync, copyFileSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedStore } from '../embedded-store.js';
import { compare, facts, fill, type Model } from './full-store.js';

/**
 * A program for damage.spec.ts.
 *
 *   fill DIRECTORY killed|closed    makes a full store in it, and dies or closes it
 *   ask DIRECTORY                   prints the facts of a copy of it
 *   try DIRECTORY MODEL FLIPS       for each of FLIPS (JSON: [offset, mask]): alters that byte in a copy, starts on it,
 *                                   asks everything, starts again; prints a line before and one after
 */
const [verb, directory = '', ...rest] = process.argv.slice(2);
const say = (line: unknown): void => void writeSync(1, `${JSON.stringify(line)}\n`);
/** One portion of the journal is checkpointed while the store is filled, and one is not. */
const CHECKPOINT_BYTES = 40_000;

function copyOf(flip?: readonly [number, number]): string {
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

async function tryFlip(model: Model, flip: readonly [number, number]): Promise<unknown> {
  const dataDir = copyOf(flip);
  const verdicts: unknown[] = [];
  for (let start = 0; start < 2; start++) {
    let store: EmbeddedStore;
    try {
      store = await EmbeddedStore.open({ dataDir });
    } catch (error) {
      verdicts.push({ start: (error as Error).message });
      continue;
    }
    // The questions change the store: asked at the second start, of a store that only started before.
    if (start === 1) verdicts.push(compare(model, await facts(store, model)));
    else verdicts.push({ lost: (await store.readiness()).warnings.length });
    await store.close();
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
  for (const flip of JSON.parse(flips) as [number, number][]) {
    say({ begin: flip });
    say({ end: await tryFlip(known, flip) });
  }
  rmSync(`${directory}-copy-${process.pid}`, { recursive: true, force: true });
}
