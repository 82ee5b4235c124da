import { NOW } from '../scripts/script.js';
import { type Frame, NAMES, type StackName, type Verb } from './frame.js';
import { head, open, reply } from './parts.js';
import { answered, kindOf, visit } from './passes.js';

/** The layers that a verb reads, and their order. */
const READS: Readonly<
  Record<
    Exclude<Verb, 'add' | 'remove' | 'keep'>,
    { stacks: StackName[]; order: 'oldest first' | 'newest first' }
  >
> = {
  check: { stacks: ['own', 'sync'], order: 'newest first' },
  // The oldest layer that claims an item has its count. Newer layers claim it only as a false positive.
  count: { stacks: ['own', 'sync'], order: 'oldest first' },
  listed: { stacks: ['sync'], order: 'newest first' },
};

/** See Counters.check and count. `listed` reads only the sync's layers. */
export function read(frame: Frame): string {
  const { verb, ages } = frame.task;
  const kind = kindOf(frame);
  const { stacks, order } = READS[verb as keyof typeof READS];
  const passes = stacks
    .filter((stack) => frame.has(stack))
    .map((stack) =>
      visit(frame, stack, {
        ...{ skip: 'out', left: 'left', order },
        item: ({ shape }) => `${kind.claim(shape)}
      if live${ages ? ` and not ${NAMES[stack].gone}[n]` : ''} then
        ${answered(frame, { skip: 'out', left: 'left' }, verb === 'count' ? `char(48 + ${kind.least(shape)})` : "'1'")}
      end`,
      }),
    );
  return `${head(frame)}${ages ? NOW : ''}${open(frame)}
local out, left = {}, count
${passes.join('\n')}
for n = 1, count do out[n] = out[n] or '0' end
${reply(frame, "concat(out, '', 1, count)")}`;
}
