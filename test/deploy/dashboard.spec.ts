import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { dashboard } from '../../deploy/grafana/dashboard.js';
import { BOUNDED } from '../../src/admission/bounds.js';
import { rowsOf } from '../support/markdown.js';
import { alerts, DASHBOARD, panelQueries, RULE_TESTS, RULES } from './alerts.js';
import { CHART } from './manifests.js';

const METRICS = rowsOf('docs/metrics.md', 'metric').map(([name = '']) => name);
/** Metrics of Prometheus itself, and of the Node.js client. */
const OTHERS = ['up', 'process_resident_memory_bytes'];

/** The metrics that a query names. A histogram's series have other names. */
function metricsIn(expr: string): string[] {
  const names = expr.match(/\b(?:up|(?:unseen|nodejs|process)_\w+)\b/g) ?? [];
  return names.map((name) => name.replace(/_seconds_(?:bucket|sum|count)$/, '_seconds'));
}

describe('the dashboard for Grafana', () => {
  // To update it: UPDATE_DASHBOARD=1 npm test -- test/deploy/dashboard
  it('is the one that its source makes', () => {
    const made = `${JSON.stringify(dashboard(), undefined, 2)}\n`;
    if (process.env.UPDATE_DASHBOARD === '1') writeFileSync(DASHBOARD, made);
    expect(readFileSync(DASHBOARD, 'utf8')).toBe(made);
  });

  it('shows every metric of the service, and no other', () => {
    const shown = new Set(panelQueries().flatMap(({ expr }) => metricsIn(expr)));
    const own = METRICS.filter((name) => name.startsWith('unseen_'));
    expect(own.filter((name) => !shown.has(name))).toEqual([]);
    expect([...shown].filter((name) => ![...METRICS, ...OTHERS].includes(name))).toEqual([]);
  });

  it('takes the maximum of gauges that all instances share, and never their sum', () => {
    const shared = rowsOf('docs/metrics.md', 'metric').flatMap(([name = '', , , instances]) =>
      instances === 'max' ? [name] : [],
    );
    expect(shared.length).toBeGreaterThan(20);
    for (const { panel, expr } of panelQueries()) {
      for (const name of metricsIn(expr).filter((one) => shared.includes(one))) {
        expect([panel, expr]).toEqual([
          panel,
          expect.stringMatching(new RegExp(`(?:max|min) by \\([\\w, ]+\\) \\(${name}\\{`)),
        ]);
      }
    }
  });
});

// Helm reads only files in the chart's folder.
describe('the chart’s copy', () => {
  it.each([DASHBOARD, RULES])('of %s is equal', (source) => {
    const copy = join(CHART, 'files', basename(source));
    const text = readFileSync(source, 'utf8');
    if (process.env.UPDATE_DASHBOARD === '1') writeFileSync(copy, text);
    expect(readFileSync(copy, 'utf8')).toBe(text);
  });
});

describe('the alerts', () => {
  const ALERTS = alerts();
  const PAGE = readFileSync('docs/operations.md', 'utf8');

  it('are many, and only about metrics that exist', () => {
    expect(ALERTS.length).toBeGreaterThanOrEqual(19);
    for (const { name, expr } of ALERTS) {
      expect([name, metricsIn(expr).length > 0]).toEqual([name, true]);
      expect([name, metricsIn(expr).filter((one) => ![...METRICS, ...OTHERS].includes(one))]).toEqual([
        name,
        [],
      ]);
    }
  });

  it('each have a paragraph in docs/operations.md, in the same order, and link it', () => {
    const headings = [...PAGE.matchAll(/^### (Unseen\w+)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(ALERTS.map(({ name }) => name));
    for (const { name, runbook } of ALERTS) {
      expect(runbook).toBe(`docs/operations.md#${name.toLowerCase()}`);
      const [, text = ''] = PAGE.split(`### ${name}\n`);
      const paragraph = text.split(/^#/m)[0] as string;
      expect([name, paragraph.length > 150]).toEqual([name, true]);
    }
  });

  it('have paragraphs that name only panels, bounds and calls that exist', () => {
    const [, section = ''] = /^## Respond to alerts\n([^]*?)^## /m.exec(PAGE) ?? [];
    const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: { title: string }[] };
    const named = [...section.matchAll(/\b_([A-Z][^_]+)_\b/g)].map(([, title = '']) => title);
    expect(named.length).toBeGreaterThan(15);
    const titles = panels.map(({ title }) => title);
    expect(named.filter((title) => !titles.includes(title.replace(/\s+/g, ' ')))).toEqual([]);

    const bounds = rowsOf('docs/operations.md', 'bound').flatMap(
      ([bound = '']) => bound.match(/[a-z]+/g) ?? [],
    );
    expect(bounds.sort()).toEqual([...BOUNDED].sort());

    const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as { paths: object };
    const routes = Object.keys(paths).map((path) => path.replaceAll(/\{\w+\}/g, '*'));
    const calls = [...section.matchAll(/\bcall ([/…]\S+?)[`\s]/g)].map(([, path = '']) =>
      path.replace('…', '/v1/filters/NAME').replaceAll(/NAME|ID/g, '*'),
    );
    expect(calls.length).toBeGreaterThan(4);
    expect(calls.filter((path) => !routes.includes(path))).toEqual([]);
  });

  it('each have a test in which they fire, and one in which they stay quiet', () => {
    const tests = [...readFileSync(RULE_TESTS, 'utf8').matchAll(/^ +- name: (.*)$/gm)].map(
      ([, name]) => name,
    );
    expect(tests).toEqual(ALERTS.flatMap(({ name }) => [`${name} fires`, `${name} stays quiet`]));
  });
});
