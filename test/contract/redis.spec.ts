import { redis } from '../support/stores.js';
import { redisFacts } from './redis-facts.js';
import { storeContract } from './store-contract.js';

storeContract(redis, redisFacts);
