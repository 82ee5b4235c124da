import { dies, memoryEnds } from './saga-trial.js';
import { sagaSuite } from './saga-suite.js';

sagaSuite({ 'its process dies': dies, 'memory ends': memoryEnds });
