import { embedded } from '../support/stores.js';
import { storeContract } from './store-contract.js';

storeContract(embedded);
