import { readFileSync } from 'node:fs';

export const RULES = 'deploy/prometheus/rules.yml';
export const RULE_TESTS = 'deploy/prometheus/rules.test.yml';
export const DASHBOARD = 'deploy/grafana/unseen.json';

export interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly runbook: string;
}

/** The alerts in the file of rules. */
export function alerts(): Alert[] {
  const [, ...parts] = readFileSync(RULES, 'utf8').split('- alert: ');
  return parts.map((part) => {
    const [name = ''] = part.split('\n');
    const [, oneLine, lines] = /^ *expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/m.exec(part) ?? [];
    return {
      name,
      expr: (oneLine ?? lines ?? '').trim(),
      runbook: /^ *runbook: (.*)$/m.exec(part)?.[1] ?? '',
    };
  });
}

export interface PanelQuery {
  readonly panel: string;
  readonly expr: string;
}

/** The queries of the dashboard's panels. */
export function panelQueries(): PanelQuery[] {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ panel: title, expr })));
}
