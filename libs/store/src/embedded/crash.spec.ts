import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { open } from 'lmdb';
import { until } from '../../../../test/support/until.js';
import { compileInto } from './testing/compiled.js';
import type { EmbeddedStore } from './embedded-store.js';
import { createGrowing, keys, operation, positions, Workbench } from './testing/fixtures.js';

const BATCH = 100;
const bench = new Workbench();
const program = mkdtempSync(join(tmpdir(), 'unseen-child-'));

beforeAll(() => compileInto(program));
afterEach(() => bench.tidy());
afterAll(() => rmSync(program, { recursive: true }));

interface Written {
  readonly acknowledged: number[];
  /** The last line of a child that wasn't killed. */
  readonly end: Record<string, unknown> | undefined;
}

/**
 * Runs testing/crash-child.ts, starting at batch `from`. Kills it some time after its first line, or limits its file
 * size.
 */
async function runChild(
  from: number,
  limits: { killAfterMs?: number; fileBlocks?: number },
): Promise<Written> {
  const command = `ulimit -f ${limits.fileBlocks ?? 'unlimited'}; exec "$0" "$@"`;
  const script = join(program, 'libs/store/src/embedded/testing/crash-child.js');
  const child = spawn('sh', ['-c', command, process.execPath, script, await bench.dataDir(), `${from}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    if (output === '' && limits.killAfterMs !== undefined) {
      setTimeout(() => child.kill('SIGKILL'), limits.killAfterMs);
    }
    output += chunk.toString();
  });
  await new Promise((resolve) => child.on('close', resolve));
  const lines = output.split('\n').slice(0, -1);
  const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const acknowledged = said.flatMap((line) => ('acknowledged' in line ? [Number(line['acknowledged'])] : []));
  return { acknowledged, end: said.find((line) => !('acknowledged' in line)) };
}

/** Expects each acknowledged batch once, with its record, and any other batch whole or not at all. */
async function expectWhole(store: EmbeddedStore, acknowledged: readonly number[]): Promise<void> {
  const filter = await store.open('seen', 'filter');
  const before = await store.describe(filter);
  expect(before.added + before.duplicate).toBeGreaterThanOrEqual(acknowledged.length * BATCH);
  expect((before.added + before.duplicate) % BATCH).toBe(0);
  let missing = 0;
  for (const batch of acknowledged) {
    const cells = positions(filter, keys(BATCH, batch * BATCH));
    const present = await store.counters.check(filter, cells);
    missing += present.filter((one) => one === 0).length;
    const record = operation({ id: `batch-${batch}`, origin: 'caller', repeat: true });
    await store.counters.add(filter, cells, record);
  }
  expect(missing).toBe(0);
  expect(await store.describe(filter)).toEqual(before);
}

describe('kill -9', () => {
  it('during writes and checkpoints loses no acknowledged batch', async () => {
    const acknowledged: number[] = [];
    for (const [round, killAfterMs] of [150, 300, 200].entries()) {
      const { acknowledged: more } = await runChild(round * 1_000_000, { killAfterMs });
      expect(more.length).toBeGreaterThan(0);
      acknowledged.push(...more);
    }
    await expectWhole(await bench.open(), acknowledged);
  });
});

/** Minimum number of batches acknowledged between two copies. */
const BATCHES_A_COPY = 5;

describe('a copy of a live directory, as a crash would leave it', () => {
  it('has every mutation that was acknowledged before it, even during checkpoints', async () => {
    const store = await bench.open({ checkpointBytes: 20_000 });
    const dataDir = await bench.dataDir();
    const filter = await createGrowing(store, { semantics: 'multiset', capacity: 500, errorRate: 1e-6 });
    const acknowledged: number[] = [];
    let next = 0;
    let writing = true;
    const writers = Array.from({ length: 8 }, async () => {
      while (writing) {
        const batch = next++;
        const cells = positions(filter, keys(BATCH, batch * BATCH));
        const record = operation({ id: `batch-${batch}`, origin: 'caller', repeat: true });
        await store.counters.add(filter, cells, record);
        acknowledged.push(batch);
      }
    });
    const environment = open({ path: join(dataDir, 'data.mdb'), noSubdir: true }) as unknown as Environment;
    const copies: { directory: string; acknowledged: number[] }[] = [];
    for (let copy = 0; copy < 6; copy++) {
      const enough = (copy + 1) * BATCHES_A_COPY;
      await until('more batches are acknowledged', async () => acknowledged.length >= enough);
      const directory = join(dataDir, `copy-${copy}`);
      copies.push({ directory, acknowledged: [...acknowledged] });
      await environment.backup(join(directory, 'data.mdb'), false);
    }
    writing = false;
    await Promise.all(writers);
    await environment.close();
    for (const { directory, acknowledged: known } of copies) {
      const copy = await bench.open({ dataDir: directory });
      await expectWhole(copy, known);
      await copy.close();
    }
    expect((await store.describe(filter)).layers.length).toBeGreaterThan(1);
  });
});

/** The library has these methods, but its types don't. */
interface Environment {
  backup(path: string, compact: boolean): Promise<void>;
  close(): Promise<void>;
}

describe('a write that fails', () => {
  it('throws, changes nothing, and loses no acknowledged batch', async () => {
    const { acknowledged, end } = await runChild(0, { fileBlocks: 4000 });
    expect(acknowledged.length).toBeGreaterThan(10);
    expect(end).toMatchObject({ present: 0, items: acknowledged.length * BATCH });
    expect(['STORE_UNAVAILABLE', 'STORE_FULL']).toContain(end?.['code']);
    await expectWhole(await bench.open(), acknowledged);
  });
});
