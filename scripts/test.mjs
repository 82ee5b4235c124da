/**
 * Checks a lane's tools (test/support/lanes.mjs), then runs its tests.
 *
 *   test.mjs                 the tests of `npm test`
 *   test.mjs all             the tests of `npm run test:all`
 *   test.mjs [all] PATH …    the tests below the paths, in either lane
 *
 * Other arguments go to Jest. LANE=all in the environment means the same as `all`, so CI can run the README's command.
 */
import { buildArgv, run } from 'jest';
import { checkTools } from './ensure.mjs';

const [first, ...rest] = process.argv.slice(2);
const args = first === 'all' ? rest : process.argv.slice(2);
const { _: paths, testPathPatterns = [] } = await buildArgv(args);
if (first === 'all') process.env.LANE = 'all';
process.env.LANE ||= [...paths, ...testPathPatterns].length > 0 ? 'all' : 'core';
// Jest's own command does this too.
process.env.NODE_ENV ??= 'test';

checkTools();
await run(args);
