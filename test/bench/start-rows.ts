import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMicros, residentMemory } from './process-usage.js';
import { atMost, type BenchOptions, type Group, type Row } from './row.js';
import { withService } from './service.js';
import { median } from './statistics.js';

const ROUNDS = 5;
/** By then, the service has done the work of its start. */
const SETTLE_MS = 1_000;
const MB = 1e6;
const MOST_SECONDS = 1;
const MOST_MB = 120;

/** Starts with an empty embedded store: the time until the service is ready, and its CPU and memory a second later. */
export const startGroup: Group = {
  name: 'start',
  measure: async ({ quick, profileDir }: BenchOptions): Promise<Row[]> => {
    const starts: { readonly seconds: number; readonly cpuSeconds: number; readonly mb: number }[] = [];
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
      await withService({ profileDir }, async ({ pid, startMs }) => {
        await sleep(SETTLE_MS);
        const { total } = residentMemory(pid);
        starts.push({ seconds: startMs / 1_000, cpuSeconds: cpuMicros(pid) / 1e6, mb: total / MB });
      });
    }
    const seconds = starts.map((start) => start.seconds);
    return [
      {
        name: 'start/embedded',
        figures: [
          { name: 'CPU', value: median(starts.map(({ cpuSeconds }) => cpuSeconds)), unit: 's' },
          { name: 'fastest', value: Math.min(...seconds), unit: 's' },
          { name: 'slowest', value: Math.max(...seconds), unit: 's' },
        ],
        targets: [
          atMost('until ready', median(seconds), MOST_SECONDS, 's'),
          atMost('RSS after the start', median(starts.map(({ mb }) => mb)), MOST_MB, 'MB'),
        ],
      },
    ];
  },
};
