import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Random, SEED } from '../../../../test/support/random.js';
import { compileInto } from './testing/compiled.js';
import type { Flip, Verdict } from './testing/damage-child.js';

/** Total number of flips, half of them in a killed store and half in a closed one. */
const FLIPS = Number(process.env['DAMAGE_RUNS'] ?? 150);
const PROCESSES = 2;
/** A child that prints nothing for this long has hung, even on a busy machine. */
const SILENCE_MS = 60_000;
const PAGE = 4096;
const META_BYTES = 168;

const workshop = mkdtempSync(join(tmpdir(), 'unseen-damage-'));
const program = join(workshop, 'libs/store/src/embedded/testing/damage-child.js');
beforeAll(() => compileInto(workshop));
afterAll(() => rmSync(workshop, { recursive: true }));

/** A full store, and the file of its answers. */
function makeStore(end: 'killed' | 'closed'): { directory: string; model: string } {
  const directory = join(workshop, end);
  const filled = spawnSync(process.execPath, [program, 'fill', directory, end]);
  expect(filled.signal ?? filled.status).toBe(end === 'killed' ? 'SIGKILL' : 0);
  const asked = spawnSync(process.execPath, [program, 'ask', directory], { maxBuffer: 2 ** 28 });
  expect(asked.status).toBe(0);
  const model = `${directory}.json`;
  writeFileSync(model, asked.stdout);
  return { directory, model };
}

/** Chooses the bytes to alter: some in every kind of page, but mostly in places where LMDB trusts the contents. */
function chooseFlips(data: Buffer, count: number, random: Random): Flip[] {
  const ofKind = (kind: number) =>
    Array.from({ length: data.length / PAGE }, (_, page) => page).filter(
      (page) =>
        page > 1 && data.readUInt32LE(page * PAGE) === page && data.readUInt16LE(page * PAGE + 18) === kind,
    );
  const [branches, leaves, overflows] = [1, 2, 4].map(ofKind) as [number[], number[], number[]];
  const inside = (pages: number[], bytes: number) => random.pick(pages) * PAGE + random.below(bytes);
  const places = [
    () => random.pick([0, PAGE / 2, PAGE]) + random.below(META_BYTES),
    () => inside(branches, 80),
    () => inside(branches, PAGE),
    () => inside(leaves, 80),
    () => inside(leaves, PAGE),
    () => inside(leaves, PAGE),
    () => inside(overflows, 24),
    () => random.below(data.length),
    () => random.below(data.length),
  ];
  return Array.from({ length: count }, (_, i) => [
    (places[i % places.length] as () => number)(),
    1 + random.below(255),
  ]);
}

interface Outcome {
  readonly flip: Flip;
  /** The verdicts from both starts, or how the process ended. */
  readonly verdicts: readonly Verdict[] | string;
}

/** Tries the flips one by one in a child process. If it dies, a new one continues. */
async function tryAll(
  store: { directory: string; model: string },
  flips: readonly Flip[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  while (outcomes.length < flips.length) {
    const left = flips.slice(outcomes.length);
    const args = [program, 'try', store.directory, store.model, JSON.stringify(left)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let errors = '';
    const hung = setTimeout(() => child.kill('SIGKILL'), SILENCE_MS);
    child.stdout.on('data', (chunk: Buffer) => {
      hung.refresh();
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    const end = await new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)));
    clearTimeout(hung);
    const lines = output.split('\n').slice(0, -1);
    for (const [i, line] of lines.entries()) {
      outcomes.push({ flip: left[i] as Flip, verdicts: JSON.parse(line) as Verdict[] });
    }
    if (lines.length < left.length) {
      outcomes.push({ flip: left[lines.length] as Flip, verdicts: `ended with ${String(end)}: ${errors}` });
    }
  }
  return outcomes;
}

/**
 * Judges how the store handles damage. At both starts, it must find all data, or report the lost part, or refuse to
 * start.
 */
function judge(verdicts: Outcome['verdicts']): 'whole' | 'lost' | 'refused' | 'wrong' {
  if (typeof verdicts === 'string') return 'wrong';
  const [first, second] = verdicts;
  if (first?.refusal !== undefined || second?.refusal !== undefined) {
    const said = String(first?.refusal).includes('data.mdb is damaged');
    return said && first?.refusal === second?.refusal ? 'refused' : 'wrong';
  }
  if (second?.wrong === undefined || second.wrong.length > 0) return 'wrong';
  return second.refused === 0 ? 'whole' : 'lost';
}

describe(`any byte of data.mdb altered while the store is stopped (seed ${SEED})`, () => {
  it.each(['killed', 'closed'] as const)(
    'after it was %s: no wrong answer, no crash, no hang, and the same at the next start',
    async (end) => {
      const store = makeStore(end);
      const data = readFileSync(join(store.directory, 'data.mdb'));
      const flips = chooseFlips(data, FLIPS / 2, new Random());
      const shares = Array.from({ length: PROCESSES }, (_, share) =>
        flips.filter((_, i) => i % PROCESSES === share),
      );
      const outcomes = (await Promise.all(shares.map((share) => tryAll(store, share)))).flat();
      const counts = { whole: 0, lost: 0, refused: 0, wrong: 0 };
      for (const { verdicts } of outcomes) counts[judge(verdicts)]++;
      console.log(`${flips.length} bytes altered: ${JSON.stringify(counts)}`);
      expect(outcomes.filter(({ verdicts }) => judge(verdicts) === 'wrong')).toEqual([]);
      expect(Math.min(counts.whole, counts.lost, counts.refused)).toBeGreaterThan(0);
    },
    600_000,
  );
});
