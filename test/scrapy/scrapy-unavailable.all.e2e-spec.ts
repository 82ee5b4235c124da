import { describeScrapy, LONG, suitesPass, why } from './suites.js';

describeScrapy(`scrapy-unseen without its service${why}`, () => suitesPass([LONG.unavailable]));
