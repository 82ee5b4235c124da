import { faultsOf } from '../options.js';
import { redisSystem } from '../systems.js';
import { syncedSuite } from './synced-suite.js';

syncedSuite({ store: 'Redis', start: redisSystem, faults: faultsOf('redis') });
