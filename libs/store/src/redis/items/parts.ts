import { hostLanes } from '../scripts/queue-moves.js';
import { openQueueToChange } from '../scripts/queue-state.js';
import { addCounts, checkSegment, END_OF_STACK, RECORD, SYNC } from '../scripts/script.js';
import { hiddenKeyOf } from './aged-cells.js';
import { type Frame, NAMES, type StackName } from './frame.js';
import { kindOf } from './passes.js';

/** First lines: the segment, its keys, and the open layers. */
export function head(frame: Frame): string {
  const { keys, places, task } = frame;
  const hasSync = frame.has('sync');
  const assertThere = [
    ...(task.ages ? frame.stacks.map((stack) => `call('ZCARD', ${hiddenKeyOf(frame, stack)}) == 0`) : []),
    ...(frame.changes && hasSync ? [`call('HLEN', KEYS[${keys.removed}]) == 0`] : []),
  ];
  const pieces = places
    .filter((place) => frame.hasKeys(place))
    .map((place) => {
      const [bytes, count] = [frame.layerArg(place, 'bytes'), frame.layerArg(place, 'keys')];
      return `piece(${place.place}, tonumber(${bytes}), tonumber(${count}), ${place.layer} > ${NAMES[place.stack].open})`;
    });
  return `${checkSegment(...frame.fields)}
${assertThere.length > 0 ? `if ${assertThere.join(' or ')} then return redis.status_reply('LOST') end` : ''}
${frame.stacks.map((stack) => `local ${NAMES[stack].open} = tonumber(${frame.field(`${NAMES[stack].prefix}open`)} or 0)`).join('\n')}
${
  pieces.length > 0
    ? `local firstKey, nextKey = {}, ${keys.pieces}
local function piece(place, bytes, keys, mayLack)
  firstKey[place] = nextKey
  for n = nextKey, nextKey + keys - 1 do
    local size = call('STRLEN', KEYS[n])
    if size ~= bytes then return size == 0 and mayLack and 'UNMADE ' .. place or 'LOST' end
  end
  nextKey = nextKey + keys
end
local fault = ${pieces.join('\n  or ')}
if fault then return redis.status_reply(fault) end`
    : ''
}
${frame.stacks.map((stack) => `if ${NAMES[stack].open} >= ${frame.placesIn(stack).length} then return redis.status_reply('${NAMES[stack].grow}') end`).join('\n')}`;
}

/** Variables for the batch and the kind of cells. Follows the head and, in a change, RECALL. */
export const open = (frame: Frame): string => `
local count = tonumber(${frame.arg('count')})
${
  frame.needs('hashes')
    ? `local hashes = {}
local function hashesOf()
  if #hashes == 0 then
    for n = 1, count do hashes[n] = sub(${frame.arg('hashes')}, n * 16 - 15, n * 16) end
  end
  return hashes
end`
    : ''
}${kindOf(frame).open(frame)}`;

/**
 * Each layer's share of items in this segment, and `room`, which returns how many more items a range of layers can
 * take.
 */
export const shares = (frame: Frame): string => `
local shares = {${frame.places
  .map((place) => `${place.place === 0 ? '[0] = ' : ''}tonumber(${frame.layerArg(place, 'share')})`)
  .join(', ')}}
local function room(from, last)
  local sum = 0
  for place = from, last do sum = sum + math.max(0, shares[place] - stored[place]) end
  return sum
end`;

/** The layers from the open one to the last, as Lua arguments of `room`. */
export function openRange(frame: Frame, stack: StackName): string {
  const places = frame.placesIn(stack);
  const first = places[0]?.place ?? 0;
  return `${first} + ${NAMES[stack].open}, ${first + places.length - 1}`;
}

/**
 * Opens the queue. A Lua function may have at most 200 local variables, so the queue's variables are in a block, with
 * one variable outside.
 */
export const openQueue = (frame: Frame, parts: string): string =>
  frame.task.queued
    ? `
local openedQueue
do
${openQueueToChange(frame.task.hosts, String(frame.has('sync')))}${hostLanes(frame.task.hosts)}${parts}
openedQueue = queue
end`
    : '';

/**
 * Counts the items that the sync's layers gained or lost: those with true in the Lua table `there`. Needs HOST_LIMITS
 * and the items' hashes.
 */
export const keptOfHosts = (frame: Frame, there: string, by: 1 | -1): string => `
if openedQueue.countsUrls() then
  local ids, hosts = {}, ${frame.arg('hosts')}
  hashesOf()
  for n = 1, count do
    if ${there}[n] then ids[#ids + 1] = sub(hashes[n], 1, 4) .. sub(hosts, 4 * n - 3, 4 * n) end
  end
  if #ids > 0 then
    openedQueue.kept(ids, ${by}, ${by > 0 ? frame.arg('names') : "''"})
    openedQueue.flush()
    openedQueue.save()
  end
end`;

export const saveOpen = (frame: Frame): string =>
  frame.stacks
    .map((stack) => {
      const { open: name, prefix } = NAMES[stack];
      const before = frame.field(`${prefix}open`);
      return `if ${name} ~= tonumber(${before} or 0) then call('HSET', meta, '${prefix}open', ${name}) end`;
    })
    .join('\n');

export const addSyncCounts = (counts: Readonly<Record<string, string>>): string =>
  Object.entries(counts)
    .map(([name, value]) => `if ${value} ~= 0 then call('HINCRBY', meta, '${SYNC}${name}', ${value}) end`)
    .join('\n');

/** Last lines of a change. They write the counts and record the answers. */
export const end = (frame: Frame, ...counts: readonly string[]): string => `
local answers = concat(out, '', 1, count)
${frame.task.verb === 'remove' ? '' : saveOpen(frame)}
${kindOf(frame).save(frame)}
${addCounts(...counts)}
${RECORD}
${reply(frame, 'answers', frame.task.verb === 'remove' ? 'sweep' : '0')}`;

export function reply(frame: Frame, answers: string, sweep = '0'): string {
  const stored = (stack: StackName): string[] => frame.placesIn(stack).map(({ place }) => `stored[${place}]`);
  const [first = '', ...later] = stored('own');
  const ofSync = frame.has('sync') ? [String(END_OF_STACK), NAMES.sync.open, ...stored('sync')] : [];
  return `return {${[answers, first, sweep, NAMES.own.open, ...later, ...ofSync].join(', ')}}`;
}
