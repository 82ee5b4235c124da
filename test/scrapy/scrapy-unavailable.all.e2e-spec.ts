import { BOTH_STORES } from '../e2e/stores.js';
import { describeScrapy, LONG, suitesPass, why } from './suites.js';

describeScrapy(`scrapy-unseen without its service${why}`, () =>
  suitesPass([LONG.unavailable], BOTH_STORES.slice(0, 1)),
);
