/**
 * Provides the tools for the tests: a Redis server, Chromium, Scrapy, and the packages of the examples.
 *
 *   tools-ensure.mjs         uses installed tools, or installs them with the system's package manager and npm
 *   tools-ensure.mjs TOOL …  does the same for some of them: redis, chromium, scrapy, examples
 */
import { ensureTools } from './ensure.mjs';

ensureTools(process.argv.slice(2));
