import { describeScrapy, LONG, suitesPass, why } from './suites.js';

describeScrapy(`the queue of scrapy-unseen${why}`, () => suitesPass([LONG.queued]));
