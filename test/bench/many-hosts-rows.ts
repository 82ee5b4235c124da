import { rm } from 'node:fs/promises';
import { measured, summary, type Measured } from './measured.js';
import { cpuMicros, residentMemory } from './process-usage.js';
import { QueueClient } from './queue-client.js';
import {
  assertSetUp,
  atMost,
  totalCpu,
  type BenchOptions,
  type Group,
  type Row,
  type Target,
} from './row.js';
import { makeDataDir, Service } from './service.js';
import { hostLines } from './workload.js';

const HOSTS = 1_000_000;
const QUICK_HOSTS = 20_000;
const ERROR_RATE = 1e-3;
/** Hosts of the set to compare with. */
const FEW_HOSTS = 1_000;
/** URLs before the measurement, in another set. */
const WARM_URLS = 100_000;
/** URLs per lease, each from a different host. */
const LEASED = 100;
const LEASES = 50;
const ROUNDS = 5;
const MB = 1e6;
/** How much more the process may grow than with few hosts, in MB. The database's memory map doesn't count. */
const MOST_GROWTH_MB = 100;
/** CPU with many hosts relative to few. */
const MOST_AGAINST_FEW = 1.5;

/**
 * A million hosts in one embedded set, compared with as many URLs from a thousand hosts: the process's memory, leasing
 * a URL from each of a hundred hosts, and starting the service.
 */
export const manyHostsGroup: Group = {
  name: 'many-hosts',
  async measure(options) {
    const urls = options.quick ? QUICK_HOSTS : (options.size ?? HOSTS);
    const few = await timesOf('few', urls, FEW_HOSTS, options);
    const many = await timesOf('many', urls, urls, options);
    const grown = atMost('growth of the process', many.grown - few.grown, MOST_GROWTH_MB, 'MB');
    return [
      ...compared('discover', few.discoveries, many.discoveries, [grown]),
      ...compared('lease', few.leases, many.leases),
      ...compared('start', few.starts, many.starts),
    ];
  },
};

interface Times {
  /** How much the process grows while it gets the URLs, in MB. */
  readonly grown: number;
  readonly discoveries: Measured[];
  readonly leases: Measured[];
  readonly starts: Measured[];
}

/** Each set has its own process, so that its memory can be measured. */
async function timesOf(name: string, urls: number, hosts: number, { quick }: BenchOptions): Promise<Times> {
  const dataDir = await makeDataDir();
  let service = await Service.start({ dataDir });
  try {
    const create = async (of: string): Promise<QueueClient> => {
      const set = new QueueClient(service.port, of, 1);
      await set.create(urls, ERROR_RATE, { perHost: {} });
      return set;
    };
    const warm = await create('warm');
    await warm.stream(
      'discover',
      hostLines(0, Math.min(urls, WARM_URLS), (i) => i, FEW_HOSTS),
    );
    warm.close();
    const set = await create(name);
    const before = ownMemory(service);
    const discovery = await measured({ servicePid: service.pid }, urls, () =>
      set.stream(
        'discover',
        hostLines(0, urls, (i) => i, hosts),
      ),
    );
    const grown = ownMemory(service) - before;
    set.close();
    const leases: Measured[] = [];
    const starts: Measured[] = [];
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
      await service.stop();
      service = await Service.start({ dataDir });
      const cpu = { client: undefined, service: cpuMicros(service.pid), server: undefined };
      starts.push({ items: 1, wall: service.startMs * 1_000, cpu });
      leases.push(await leasesOf(service, name));
    }
    return { grown, discoveries: [discovery], leases, starts };
  } finally {
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function leasesOf({ port, pid }: Service, name: string): Promise<Measured> {
  const set = new QueueClient(port, name, 1);
  const lease = async (): Promise<void> => {
    for (let n = 0; n < LEASES; n++) {
      const { length } = await set.lease(LEASED, { maxPerHost: 1 });
      assertSetUp(length === LEASED, `a lease has ${length} of ${LEASED} URLs`);
    }
  };
  await lease();
  const time = await measured({ servicePid: pid }, LEASES * LEASED, lease);
  set.close();
  return time;
}

/** In MB. Leaves out the database's memory map, which the kernel frees when memory is short. */
function ownMemory({ pid }: Service): number {
  const { total, database } = residentMemory(pid);
  return (total - database) / MB;
}

/** A call's rows with few and with many hosts. */
function compared(call: string, few: Measured[], many: Measured[], targets: readonly Target[] = []): Row[] {
  const [base, row] = [
    { name: `embedded/few-hosts-${call}`, ...summary(few) },
    { name: `embedded/many-hosts-${call}`, ...summary(many) },
  ];
  const value = totalCpu(row.cpu) / totalCpu(base.cpu);
  const bound =
    call === 'discover' ? [] : [atMost('CPU relative to few hosts', value, MOST_AGAINST_FEW, 'x')];
  return [base, { ...row, ratio: { value, against: base.name }, targets: [...targets, ...bound] }];
}
