import { cutOff } from './saga-trial.js';
import { sagaSuite } from './saga-suite.js';

sagaSuite({ 'its connection is cut': cutOff });
