import { UNANSWERED_WRITES } from '../rewind.js';
import { clusterSystem } from '../cluster-system.js';
import { faultsOf } from '../options.js';
import { syncedSuite } from './synced-suite.js';

syncedSuite({
  store: 'a cluster, waiting for replicas',
  start: () => clusterSystem(1),
  faults: faultsOf('cluster'),
  losses: UNANSWERED_WRITES,
});
