import { STORES } from '../e2e/stores.js';
import { describeScrapy, LONG, suitesPass, why } from './suites.js';

/** The contract proves that both stores answer alike: one suite, which uses all that the package calls, runs on both. */
describeScrapy(`the queue of scrapy-unseen${why}`, () => suitesPass([LONG.queued], STORES));
