import { LAST_WRITES } from './rewind.js';
import { clusterSystem } from './cluster-system.js';
import { historySuite } from './history-suite.js';
import { faultsOf } from './options.js';

historySuite({
  store: 'a cluster',
  start: () => clusterSystem(0),
  faults: faultsOf('cluster'),
  losses: LAST_WRITES,
});
