import { cutOff } from './saga-trial.js';
import { sagaSuite } from './saga-suite.js';

// The connection is back at once, so a call must also repeat its reads.
sagaSuite({ 'its connection is cut': cutOff }, { atReads: true });
