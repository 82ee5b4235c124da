import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { assertBuilt } from '../../scripts/built.mjs';

assertBuilt();

const folder = mkdtempSync(join(tmpdir(), 'unseen-audit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the script with a fake npm that writes `report` and exits with `code`. */
function audit(report: string, code: number): { status: number | null; stdout: string; stderr: string } {
  const words = JSON.stringify(report);
  writeFileSync(
    join(folder, 'npm'),
    `#!/usr/bin/env node\nprocess.stdout.write(${words});\nprocess.exitCode = ${code};\n`,
    { mode: 0o755 },
  );
  const path = [folder, dirname(process.execPath), process.env.PATH ?? ''].join(delimiter);
  return spawnSync(process.execPath, ['scripts/audit.mjs'], {
    encoding: 'utf8',
    env: { ...process.env, PATH: path },
  });
}

const METADATA = { vulnerabilities: { info: 0, low: 0, moderate: 0, high: 0, critical: 0, total: 0 } };
const found = (...flaws: readonly { name: string; severity: string; range?: string }[]): string =>
  JSON.stringify({
    vulnerabilities: Object.fromEntries(
      flaws.map((flaw) => [flaw.name, { ...flaw, nodes: [`node_modules/${flaw.name}`] }]),
    ),
    metadata: METADATA,
  });

describe('scripts/audit.mjs', () => {
  it('passes without known vulnerabilities, and without severe ones', () => {
    expect(audit(found(), 0)).toMatchObject({ status: 0 });
    const lesser = found({ name: 'lmdb', severity: 'moderate' }, { name: 'fastify', severity: 'low' });
    expect(audit(lesser, 1)).toMatchObject({ status: 0, stdout: expect.stringContaining('less severe: 2') });
  });

  it.each([
    ['high', 'lmdb', 'the service needs'],
    ['critical', 'fastify', 'is in the service’s bundle'],
    ['high', 'preact', 'is in the dashboard’s bundle'],
  ])('fails on a %s vulnerability of %s, which %s', (severity, name) => {
    const report = audit(found({ name, severity, range: '<1.2.3' }, { name: 'pino', severity: 'low' }), 1);
    expect(report).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`${severity}: ${name} <1.2.3`),
    });
    expect(report.stderr).not.toContain('pino');
  });

  it('ignores packages that only development needs', () => {
    const report = audit(found({ name: 'jest', severity: 'critical' }), 1);
    expect(report).toMatchObject({ status: 0, stdout: expect.stringContaining('less severe: 0') });
  });

  it.each([
    [
      'refuses',
      JSON.stringify({ message: '405 Method Not Allowed', statusCode: 405 }),
      '405 Method Not Allowed',
    ],
    ['says nothing', '', 'npm printed no report'],
    ['answers nonsense', '<html>', 'npm printed no report'],
  ])('continues, and warns that nothing was checked, if the registry %s', (_, report, reason) => {
    expect(audit(report, 1)).toMatchObject({
      status: 0,
      stdout: '',
      stderr: expect.stringContaining(
        `\nWARNING: npm audit checked NOTHING: the registry sent no report (${reason})\n`,
      ),
    });
  });

  it('reports the same if it checked no packages', () => {
    const report = { vulnerabilities: {}, metadata: { ...METADATA, dependencies: { total: 0 } } };
    expect(audit(JSON.stringify(report), 0)).toMatchObject({
      status: 0,
      stdout: '',
      stderr: expect.stringContaining('\nWARNING: npm audit checked NOTHING: npm found no packages\n'),
    });
  });
});
