import { historySuite } from './history-suite.js';
import { faultsOf } from './options.js';
import { redisSystem } from './systems.js';

historySuite({ store: 'Redis', start: redisSystem, faults: faultsOf('redis'), byHost: true });
