import { STORES } from '../e2e/stores.js';
import { describeScrapy, LONG, suitesPass, why } from './suites.js';

/** One store is enough: the contract runs every call of the package on both stores. */
describeScrapy(`the queue of scrapy-unseen${why}`, () => suitesPass([LONG.queued], STORES));
