import {
  type ItemShape,
  leastCell,
  lowerCells,
  raiseCells,
  readItem,
  someZero,
  suffix,
  writeItem,
} from './cells.js';
import type { Script } from './script.js';
import { bringBack, CHECK_QUEUE_CHANGE, LEASES, MARKS, MOVE_DUE, openQueueToChange } from './queue-state.js';
import { tooManyMarks } from './sweep.js';
import { addCounts, ALLOW_OOM, CHECK_CHANGE, CHECK_SEGMENT, RECALL, RECORD } from './script.js';

/*
 * The scripts over a packed batch of a filter that does not grow; layers.ts has those for the others.
 */

/**
 * Opens the queue, as `line`: a script may have 200 local variables at a time, and the unrolled loop has most of them. `synced`: of a
 * segment that takes part in a sync.
 */
export const openLine = (parts: string, synced = false) => `
local line
do
${openQueueToChange(String(synced))}${parts}
line = queue
end
`;

/**
 * `queue.mark`: marks item hashes, each with the clock behind it, if there is any entry. Answers 1 if it is time for a step of
 * a sweep, else 0.
 */
export const FORGET = `
function queue.mark(marks)
  if queue.waiting + queue.leased + queue.later + queue.letterCount == 0 then return 0 end
  queue.set('marked', queue.marked + call('HSET', queue.marks, unpack(marks)))
  queue.save()
  return (queue.sweeping == 1 or ${tooManyMarks('ARGV[13]')}) and 1 or 0
end
`;

/**
 * add: see Counters.add. ARGV: 9 items, 10 values of a cell, 11 copies of items that the batch leaves out, '' for a multiset;
 * 12 packed items.
 * Visited sets also give the queue's KEYS and ARGV: 13 packed payloads, 14 attempts after which an entry is dead (0: never).
 * What is due comes into line before what is new.
 */
export function addScript(shape: ItemShape, queued: boolean): Script {
  const k = shape.hashes;
  const enqueue = `
    local a1, a2, a3, a4 = byte(payloads, p + 16, p + 19)
    local next = p + 20 + ((a1 * 256 + a2) * 256 + a3) * 256 + a4
    if fresh then entries[added] = head .. sub(payloads, p, next - 1) end
    p = next`;
  const queueNew = `if added > 0 then
  line.moveDue()
  line.append(entries)
  line.set('clock', line.clock + 1)
  line.save()
end`;
  return {
    name: `unseenAdd${queued ? 'Queued' : ''}${suffix(shape)}`,
    numberOfKeys: queued ? 12 : 4,
    lua: `${queued ? CHECK_QUEUE_CHANGE : CHECK_CHANGE}${RECALL}
local values, multiset, packed = tonumber(ARGV[10]), ARGV[11] == '', ARGV[12]
${
  queued
    ? `${openLine(`${MARKS}${bringBack('ARGV[14]')}${LEASES}${MOVE_DUE}`)}
local entries, payloads, p = {}, ARGV[13], 1
local head = struct.pack('>I4I6I4', 0, line.clock + 1, math.floor(now / 1000))`
    : ''
}
local out, at = {}, 1
local added, duplicate, nonzero, saturated = 0, tonumber(ARGV[11]) or 0, 0, 0
for n = 1, tonumber(ARGV[9]) do${readItem(shape)}
  local fresh = ${someZero(k)}
  if fresh then added = added + 1 else duplicate = duplicate + 1 end
  if fresh or multiset then
    ${raiseCells(k)}
    ${writeItem(k)}
  end
  ${queued ? enqueue : ''}
  out[n] = fresh and '1' or '0'
end
${queued ? queueNew : ''}
local answers, items = concat(out), added
${addCounts('added', 'duplicate', 'nonzero', 'saturated', 'items')}
${RECORD}
return {answers, tonumber(kept[2]) + added}`,
  };
}

/** check: see Counters.check. ARGV: 3 items, 4 values of a cell, 5 packed items. */
export function checkScript(shape: ItemShape): Script {
  return {
    name: `unseenCheck${suffix(shape)}`,
    numberOfKeys: 2,
    lua: `${CHECK_SEGMENT}
local values, packed = tonumber(ARGV[4]), ARGV[5]
local out, at = {}, 1
for n = 1, tonumber(ARGV[3]) do${readItem(shape)}
  out[n] = (${someZero(shape.hashes)}) and '0' or '1'
end
return {concat(out), tonumber(kept[2])}`,
  };
}

/** count: see Counters.count. ARGV: 3 items, 4 values of a cell, 5 packed items. */
export function countScript(shape: ItemShape): Script {
  return {
    name: `unseenCount${suffix(shape)}`,
    numberOfKeys: 2,
    lua: `${CHECK_SEGMENT}
local values, packed = tonumber(ARGV[4]), ARGV[5]
local out, at = {}, 1
for n = 1, tonumber(ARGV[3]) do${readItem(shape)}
  out[n] = char(48 + ${leastCell(shape.hashes)})
end
return {concat(out), tonumber(kept[2])}`,
  };
}

/**
 * remove: see Counters.remove. ARGV: 9 items, 10 values of a cell, 11 packed items.
 * Visited sets also give the queue's KEYS and ARGV: 12 item hashes, 16 bytes each, 13 marks that are kept
 * without a sweep. What is removed is marked as forgotten, if anything is queued that this could mean. A third answer is 1 if
 * it is time for a step of a sweep.
 */
export function removeScript(shape: ItemShape, queued: boolean): Script {
  const k = shape.hashes;
  const forget = `
      gone[2 * removed - 1], gone[2 * removed] = sub(hashes, n * 16 - 15, n * 16), clock`;
  const mark = `local sweep = removed > 0 and line.mark(gone) or 0`;
  return {
    name: `unseenRemove${queued ? 'Queued' : ''}${suffix(shape)}`,
    numberOfKeys: queued ? 12 : 4,
    lua: `${ALLOW_OOM}${queued ? CHECK_QUEUE_CHANGE : CHECK_CHANGE}${RECALL}
local values, packed = tonumber(ARGV[10]), ARGV[11]
${
  queued
    ? `${openLine(FORGET)}
local gone, hashes, clock = {}, ARGV[12], string.format('%.0f', line.clock)`
    : ''
}
local out, at = {}, 1
local removed, refused, nonzero, items = 0, 0, 0, 0
for n = 1, tonumber(ARGV[9]) do${readItem(shape)}
  if ${someZero(k)} then
    refused = refused + 1
    out[n] = '0'
  else
    local moved, emptied = false, false
    ${lowerCells(k)}
    if moved then
      ${writeItem(k)}
      removed = removed + 1
      if emptied then items = items - 1 end${queued ? forget : ''}
      out[n] = '1'
    else
      refused = refused + 1
      out[n] = '2'
    end
  end
end
${queued ? mark : ''}
local answers = concat(out)
items = math.max(items, -tonumber(kept[2]))
${addCounts('removed', 'refused', 'nonzero', 'items')}
${RECORD}
return {answers, tonumber(kept[2]) + items${queued ? ', sweep' : ''}}`,
  };
}
