/**
 * Runs the tests of a lane (test/support/lanes.mjs), after a check of the tools that they need.
 *
 *   test.mjs                 those of `npm test`
 *   test.mjs all             those of `npm run test:all`
 *   test.mjs [all] PATH …    those of the paths, whichever lane they are in
 *
 * Other arguments go to Jest. The variable LANE=all is the same as `all`, so that CI can use the command of the README.
 */
import { buildArgv, run } from 'jest';
import { currentLane } from '../test/support/lanes.mjs';
import { checkTools } from './ensure.mjs';

const [first, ...rest] = process.argv.slice(2);
const args = first === 'all' ? rest : process.argv.slice(2);
const { _: paths, testPathPatterns = [] } = await buildArgv(args);
if (first === 'all') process.env.LANE = 'all';
process.env.LANE ||= [...paths, ...testPathPatterns].length > 0 ? 'all' : 'core';
// As Jest's own command does.
process.env.NODE_ENV ??= 'test';

checkTools(currentLane());
await run(args);
