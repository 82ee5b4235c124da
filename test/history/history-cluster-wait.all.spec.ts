import { UNANSWERED_WRITES } from './rewind.js';
import { clusterSystem } from './cluster-system.js';
import { historySuite } from './history-suite.js';

historySuite({
  store: 'a cluster, waiting for replicas',
  start: () => clusterSystem(1),
  faults: ['failover', 'kill', 'cut'],
  losses: UNANSWERED_WRITES,
});
