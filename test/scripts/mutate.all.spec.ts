import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';

const folder = mkdtempSync(join(tmpdir(), 'unseen-mutations-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function mutate(...words: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ['scripts/mutate.mjs', ...words], { encoding: 'utf8' });
}

/** Runs the script on a list of mutations made for the test. */
function mutateBy(list: string, ...words: string[]): ReturnType<typeof mutate> {
  writeFileSync(join(folder, 'list.diff'), list);
  return mutate('--lists', folder, ...words);
}

const FOLD = 'libs/bloom/src/fold.ts';
const HEAD = 'killed by: libs/bloom/src/fold.spec\n\n';
const KILLED = `# every item is a duplicate
breaks: Keeps the first occurrence
@@ ${FOLD}
-    if (other >= 0) {
+    if (i > 0) {
`;
const SURVIVOR = `# the table is twice as large
breaks: Nothing
@@ ${FOLD}
-  while (size < count * 2) size *= 2;
+  while (size < count * 4) size *= 2;
`;

describe('scripts/mutate.mjs', () => {
  it('finds every mutation’s text once in the sources', () => {
    const { status, stdout, stderr } = mutate('--check');
    expect([status, stderr]).toEqual([0, '']);
    expect(Number.parseInt(stdout)).toBeGreaterThan(300);
  });

  it('names mutations whose text is missing, or that do not name the rule that they break', () => {
    const gone = `${HEAD}# gone\nbreaks: G1\n@@ ${FOLD}\n-  no such line\n`;
    expect(mutateBy(gone, '--check')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/“gone”: its text is in .*fold.ts 0 times, not once/),
    });
    const silent = `${HEAD}# silent\n@@ ${FOLD}\n-    if (other >= 0) {\n`;
    expect(mutateBy(silent, '--check')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('“silent”: a mutation needs a path, and either what it breaks'),
    });
  });

  it('says that a mutation is killed, and leaves the checkout unchanged', () => {
    const before = readFileSync(FOLD, 'utf8');
    const { status, stdout } = mutateBy(HEAD + KILLED);
    expect([status, stdout]).toEqual([0, expect.stringMatching(/killed .*every item is a duplicate/)]);
    expect(stdout).toMatch(/\n1 killed\n$/);
    expect(readFileSync(FOLD, 'utf8')).toBe(before);
  });

  it('fails for survivors, for tests that fail without the mutation, and for sources that don’t load', () => {
    const absent = KILLED.replace('@@', 'killed by: libs/bloom/src/no-such.spec\n@@');
    const broken = KILLED.replace('+    if (i > 0) {', '+    if (i > 0 {').replace(
      '# ',
      '# in code that does not load, ',
    );
    const { status, stdout } = mutateBy(HEAD + SURVIVOR + absent + broken);
    expect([status, stdout]).toEqual([1, expect.stringContaining('\n1 survived, 2 unsound\n')]);
    expect(stdout).toMatch(/survived .*the table is twice as large/);
    expect(stdout).toContain('without a mutation: jest libs/bloom/src/no-such.spec');
    expect(stdout).toContain('does not load');
  });
});
