/**
 * Provides the tools for the tests. They are a Redis server, Chromium, Prometheus, Scrapy, the examples' packages,
 * Helm with the types of Kubernetes' API, redis-py's tests, and scrapy-redis.
 *
 *   tools-ensure.mjs         uses installed tools, or installs them with the system's package manager, npm and pip;
 *                            with LANE=core, only those of `npm test`; without those in SKIP_TOOLS=TOOL,TOOL
 *   tools-ensure.mjs TOOL …  does the same for some of them: redis, chromium, prometheus, scrapy, examples, helm,
 *                            redis-py, scrapy-redis
 */
import { ensureTools } from './ensure.mjs';

ensureTools(process.argv.slice(2));
