import { REST_FACTOR, SWEEP_AFTER_MS } from '../../sweeping.js';
import { CAN_ROTATE } from './script.js';

/*
 * Lua that lets one instance at a time sweep a queue with old marks (../../sweeping.ts). A sweep that starts because of
 * too many marks needs no turn. Each of its steps continues where the last one ended, on any instance.
 *
 * ARGV: 6 the instance's id, or '' if there are too many marks, 7 ms that its sweep has taken so far. An instance that
 * must wait gets '-<ms>'.
 *
 * meta has, as `sweeper`: "<id of the instance> <when its turn ends, ms> <when the rest after the last sweep ends,
 * ms>".
 */

/** How long an instance keeps its turn after a step, in ms. */
const TURN_MS = 10_000;
/** How long to wait while the slot is moving to another node, in ms. */
const MOVING_MS = 1_000;
/** A rest cannot be longer than this, in ms. If one ends later, the clock has been set back since. */
const LONGEST_REST_MS = 3_600_000;

/** After OPEN_QUEUE: `turn` is true if the instance has its turn. Ends the script if it must wait. */
export const TAKE_TURN = `
local turn = ARGV[6] ~= '' and queue.hasVoid()
if turn then
  local id, ends, rests = string.match(call('HGET', meta, 'sweeper') or '', '^(%x*) (%d+) (%d+)$')
  local others = queue.sweeping == 1 and id ~= ARGV[6] and tonumber(ends or 0) - now or 0
  local rest = queue.sweeping == 0 and tonumber(rests or 0) - now or 0
  local wait = not ${CAN_ROTATE} and ${MOVING_MS} or others > 0 and others <= ${TURN_MS} and others
    or rest > 0 and rest <= ${LONGEST_REST_MS} and rest
  if wait then return {string.format('-%.0f', wait), done[2]} end
end`;

/** Before the script ends: continues the turn, or starts the rest. */
export const END_TURN = `
if turn and queue.sweeping == 1 then
  call('HSET', meta, 'sweeper', string.format('%s %.0f 0', ARGV[6], now + ${TURN_MS}))
  if done[1] == '0' then done[1] = '-${MOVING_MS}' end
elseif turn then
  local rest = math.min(${LONGEST_REST_MS}, math.max(${SWEEP_AFTER_MS}, ${REST_FACTOR} * ARGV[7]))
  call('HSET', meta, 'sweeper', string.format(' 0 %.0f', now + rest))
  if queue.hasVoid() then done[1] = string.format('-%.0f', rest) end
end`;
