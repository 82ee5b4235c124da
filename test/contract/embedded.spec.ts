import { expect, it } from '@jest/globals';
import { embedded } from '../support/stores.js';
import { orderAfterRelease } from './queue.js';
import { storeContract } from './store-contract.js';

storeContract(embedded, (subject) => {
  it('a released entry goes back to its old place in line', async () => {
    expect(await orderAfterRelease(subject)).toEqual(['item 0', 'item 2', 'item 4', 'item 5']);
  });
});
