import { rm } from 'node:fs/promises';
import { FilterClient } from './filter-client.js';
import { residentMemory } from './process-usage.js';
import { assertSetUp, atMost, type BenchOptions, type Group, type Row } from './row.js';
import { makeDataDir, Service } from './service.js';
import { sizeName, sizesOf } from './sizes.js';
import { jsonBody } from './workload.js';

/** Limit on the start of a service with up to 10^8 items (--size 1e8), in seconds. */
const START_SECONDS = 10;
const ERROR_RATE = 1e-2;
const FILTER = 'memory';
const MB = 1e6;

/** A full embedded filter: its memory, and how long the service takes to start with it. */
export const memoryGroup: Group = {
  name: 'embedded-memory',
  async measure(options) {
    const dataDir = await makeDataDir();
    try {
      const memory = await memoryRow(options, dataDir);
      return [memory, ...(await restartRows(options, dataDir))];
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  },
};

/** The run's largest size. */
const sizeOf = (options: BenchOptions) => Math.max(...sizesOf(options));

async function memoryRow(options: BenchOptions, dataDir: string): Promise<Row> {
  const size = sizeOf(options);
  const service = await Service.start({ dataDir });
  try {
    const filter = new FilterClient(service.port, FILTER, 2);
    const before = residentMemory(service.pid);
    const externalBefore = await filter.metric('nodejs_external_memory_bytes');
    const { memoryBytes } = await filter.create(size, ERROR_RATE);
    const external = (await filter.metric('nodejs_external_memory_bytes')) - externalBefore;
    await filter.fill(0, size);
    const { items } = await filter.view();
    assertSetUp(items > size * (1 - ERROR_RATE), `the items are stored: ${items} of ${size}`);
    const full = residentMemory(service.pid);
    filter.close();
    const off = (100 * Math.abs(external - memoryBytes)) / memoryBytes;
    const own = (full.total - full.database - memoryBytes) / MB;
    return {
      name: `embedded-${sizeName(size)}/memory`,
      bytesPerItem: memoryBytes / size,
      figures: [
        { name: 'RSS before', value: before.total / MB, unit: 'MB' },
        { name: 'RSS full', value: full.total / MB, unit: 'MB' },
        { name: 'anonymous part', value: full.anonymous / MB, unit: 'MB' },
        { name: 'program part', value: full.program / MB, unit: 'MB' },
        { name: 'database map part', value: full.database / MB, unit: 'MB' },
        { name: 'cells', value: memoryBytes / MB, unit: 'MB' },
      ],
      targets: [
        atMost('difference of buffers and geometry', off, 3, '%'),
        atMost('RSS minus cells and database map', own, 150, 'MB'),
      ],
    };
  } finally {
    await service.stop();
  }
}

/** Restarts after a graceful shutdown, and after kill -9. */
async function restartRows(options: BenchOptions, dataDir: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const end of ['SIGTERM', 'SIGKILL'] as const) {
    const service = await Service.start({ dataDir });
    try {
      const filter = new FilterClient(service.port, FILTER, 1);
      const present = await filter.batches('check', [jsonBody(0, 1_000)]);
      assertSetUp(present > 980, `the items are present again: ${present} of 1000`);
      rows.push({
        name: `embedded-${sizeName(sizeOf(options))}/restart-after-${end === 'SIGTERM' ? 'stop' : 'kill'}`,
        targets: [atMost('until ready', service.startMs / 1_000, START_SECONDS, 's')],
      });
      // As after a crash: only the journal has some of the changes.
      await filter.batches('remove', [jsonBody(0, 1_000)]);
      await filter.batches('add', [jsonBody(0, 1_000)]);
      filter.close();
    } finally {
      await service.stop('SIGKILL');
    }
  }
  return rows;
}
