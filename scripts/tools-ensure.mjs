/**
 * Provides the tools for the tests. They are a Redis server, Chromium, Scrapy, and the examples' packages.
 *
 *   tools-ensure.mjs         uses installed tools, or installs them with the system's package manager and npm; with
 *                            LANE=core, only those of `npm test`
 *   tools-ensure.mjs TOOL …  does the same for some of them: redis, chromium, scrapy, examples
 */
import { ensureTools } from './ensure.mjs';

ensureTools(process.argv.slice(2));
