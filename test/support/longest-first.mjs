import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/**
 * The files that take longest, by their wall time on two idle cores. Jest knows how long a file took the last time, but
 * not after `npm ci`. Then it goes by file size, and the smallest files here run longest. A long file that starts last
 * runs alone at the end.
 */
const LONGEST = [
  'test/contract/redis-cluster-moving.spec.ts',
  'test/history/history-cluster-wait.spec.ts',
  'test/history/history-cluster.spec.ts',
  'test/contract/redis-cluster.spec.ts',
  'test/e2e/auth-process.e2e-spec.ts',
  'test/faults/cut-connection.spec.ts',
  'test/contract/redis.spec.ts',
  'test/fuzz/fuzz.e2e-spec.ts',
  'test/faults/killed.spec.ts',
  'test/e2e/transfer.e2e-spec.ts',
  'test/cluster/failover.spec.ts',
  'test/e2e/process.e2e-spec.ts',
  'test/history/history-redis.spec.ts',
  'test/e2e/overload-callers.e2e-spec.ts',
  'test/faults/full-disk.spec.ts',
  'test/contract/transfer.spec.ts',
  'test/faults/paused-redis.spec.ts',
  'test/e2e/overload-rate-limit.e2e-spec.ts',
  'test/fuzz/turns.e2e-spec.ts',
  'test/cluster/wait-replicas.spec.ts',
  'libs/bloom/src/measured-rate.spec.ts',
  'libs/store/src/embedded/damage.spec.ts',
  'test/contract/embedded.spec.ts',
  'test/history/history-embedded.spec.ts',
  'test/e2e/overload-endings.e2e-spec.ts',
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
