import { historySuite } from './history-suite.js';
import { faultsOf } from './options.js';
import { embeddedSystem } from './systems.js';

historySuite({
  store: 'the embedded store',
  start: embeddedSystem,
  faults: faultsOf('embedded'),
  byHost: true,
});
