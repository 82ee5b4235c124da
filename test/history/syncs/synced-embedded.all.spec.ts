import { faultsOf } from '../options.js';
import { embeddedSystem } from '../systems.js';
import { syncedSuite } from './synced-suite.js';

syncedSuite({ store: 'the embedded store', start: embeddedSystem, faults: faultsOf('embedded') });
