import { barChart, type Bar } from './chart.js';
import { totalCpu, type CpuPerItem, type Row } from './row.js';

/** Also the alternative text of the image. */
export const CHART_TITLE = 'Total CPU per item on the real mix: client, service and Redis';

const WORKLOAD = 'mix/';
const PARTS = { client: 'client', service: 'service', server: 'Redis' } as const;

/** All contenders' CPU on the real mix, least first, as an SVG image. Undefined if the run has not measured it. */
export function peerChart(rows: readonly Row[]): string | undefined {
  const bars = rows
    .filter(({ name, cpu }) => name.startsWith(WORKLOAD) && cpu !== undefined)
    .map(({ name, cpu = {} }): Bar => ({
      label: name.slice(WORKLOAD.length),
      value: totalCpu(cpu),
      note: parts(cpu),
      own: name.startsWith(`${WORKLOAD}unseen-`),
    }))
    .sort((a, b) => a.value - b.value);
  if (bars.length === 0) return undefined;
  return barChart(CHART_TITLE, 'µs', bars);
}

function parts(cpu: CpuPerItem): string {
  return (['client', 'service', 'server'] as const)
    .flatMap((part) =>
      cpu[part] === undefined ? [] : [`${PARTS[part]} ${Number(cpu[part].toPrecision(2))}`],
    )
    .join(', ');
}
