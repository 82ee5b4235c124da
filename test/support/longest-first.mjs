import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/**
 * The slowest spec files, ordered by their wall time in a full run on two cores. Each run ends with its own list
 * (summary-reporter.mjs). After `npm ci` Jest has no durations and sorts by file size, but some of the smallest files
 * here take the longest. A long file that starts last runs alone at the end.
 */
const LONGEST = [
  'test/contract/redis-cluster-moving.spec.ts',
  'test/contract/redis.spec.ts',
  'test/faults/redis-sagas.all.spec.ts',
  'test/scrapy/scrapy.all.e2e-spec.ts',
  'test/scrapy/scrapy-unavailable.all.e2e-spec.ts',
  'test/scrapy/scrapy-queued.all.e2e-spec.ts',
  'test/politeness/crawl.all.spec.ts',
  'test/faults/redis-sagas.spec.ts',
  'test/contract/embedded.spec.ts',
  'test/examples/crawlee.all.e2e-spec.ts',
  'test/examples/worker.all.e2e-spec.ts',
  'test/history/syncs/synced-cluster.all.spec.ts',
  'test/scripts/mutate.all.spec.ts',
  'test/dashboard/away.all.e2e-spec.ts',
  'test/faults/cut-connection.spec.ts',
  'test/faults/ageing.all.spec.ts',
  'test/examples/cms.all.e2e-spec.ts',
  'test/cluster/wait-replicas.spec.ts',
  'test/bench/peers/peers.all.spec.ts',
  'test/history/syncs/synced-redis.all.spec.ts',
  'test/cluster/tls.all.spec.ts',
  'test/cluster/failover.spec.ts',
  'test/contract/redis-growth.spec.ts',
  'test/cli/package.all.e2e-spec.ts',
  'test/examples/worker-pages.all.e2e-spec.ts',
  'test/e2e/auth-process.all.e2e-spec.ts',
  'test/contract/redis-cluster.all.spec.ts',
  'test/e2e/streams.e2e-spec.ts',
  'test/e2e/real-time.all.e2e-spec.ts',
  'test/history/queue-judge.all.spec.ts',
  'test/contract/transfer.spec.ts',
  'test/history/syncs/synced-embedded.all.spec.ts',
  'test/cli/begin-anew.all.e2e-spec.ts',
  'test/e2e/transfer.e2e-spec.ts',
  'test/history/history-cluster.all.spec.ts',
  'test/cli/jobs.all.e2e-spec.ts',
  'test/faults/killed.spec.ts',
  'test/contract/ageing.spec.ts',
  'test/history/history-cluster-wait.all.spec.ts',
  'test/e2e/process.e2e-spec.ts',
  'test/fuzz/fuzz.all.e2e-spec.ts',
  'test/cli/commands.e2e-spec.ts',
  'test/cli/hosts.e2e-spec.ts',
  'test/cli/order.e2e-spec.ts',
  'test/client/worker.e2e-spec.ts',
  'test/cli/import-set.all.e2e-spec.ts',
  'test/fuzz/turns.e2e-spec.ts',
  'test/dashboard/session.all.e2e-spec.ts',
  'test/cluster/slot-migration.spec.ts',
  'test/contract/hosts-alike.spec.ts',
  'test/dashboard/sync.all.e2e-spec.ts',
  'test/dashboard/list.all.e2e-spec.ts',
  'test/faults/paused-redis.spec.ts',
  'test/e2e/secrets.e2e-spec.ts',
  'test/dashboard/set.all.e2e-spec.ts',
  'test/cli/work.e2e-spec.ts',
  'test/client/retries.e2e-spec.ts',
  'test/simulation/simulation.spec.ts',
  'test/history/history-redis.all.spec.ts',
  'test/cli/secrets.all.e2e-spec.ts',
  'test/faults/full-disk.spec.ts',
  'test/cli/incomplete-sources.all.e2e-spec.ts',
  'test/e2e/overload-endings.e2e-spec.ts',
  'test/history/checker.all.spec.ts',
  'test/support/redis-server.all.spec.ts',
  'libs/bloom/src/measured-rate.spec.ts',
  'test/cli/queue.e2e-spec.ts',
  'test/client/package.all.e2e-spec.ts',
  'test/history/history-embedded.all.spec.ts',
  'test/docs/guides.all.e2e-spec.ts',
];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
}

function rank({ path, context }) {
  const at = LONGEST.indexOf(relative(context.config.rootDir, path));
  return at < 0 ? LONGEST.length : at;
}

const gone = LONGEST.filter((path) => !existsSync(join(import.meta.dirname, '../..', path)));
if (gone.length > 0)
  throw new Error(`test/support/longest-first.mjs names files that are gone: ${gone.join()}`);
