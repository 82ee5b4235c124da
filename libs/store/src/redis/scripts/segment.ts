import { CYCLE } from '../../age.js';
import { CHECK_QUEUE, EMPTY_QUEUE, LEASED, LEASES, QUEUE_FIELD } from './queue-state.js';
import type { Script } from './script.js';
import { ALLOW_OOM, CHECK_CHANGE, CHECK_SEGMENT, NOW, RECALL, RECORD } from './script.js';

/**
 * Makes the cells of a segment, unless they exist: a command that a lost connection left behind may arrive when they
 * are in use. KEYS: 1 cells. ARGV: 1 index of the last byte.
 */
export const createCellsScript: Script = {
  name: 'unseenCreateCells',
  numberOfKeys: 1,
  lua: `
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SETRANGE', KEYS[1], ARGV[1], '\\0') end
return 'OK'`,
};

/** Makes the meta key of a segment, unless it exists, for the same reason. KEYS: 1 meta. ARGV: 1 generation. */
export const createMetaScript: Script = {
  name: 'unseenCreateMeta',
  numberOfKeys: 1,
  lua: `
if redis.call('EXISTS', KEYS[1]) == 1 then return 'OK' end
${NOW}
local made = string.format('%.0f', now)
redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'items', 0, 'nonzero', 0, 'saturated', 0, 'added', 0, 'duplicate', 0,
  'removed', 0, 'refused', 0, '${QUEUE_FIELD}', ${EMPTY_QUEUE}, 'created', made, 'caller:since', made, 'caller:previous', made, 'caller:bytes', 0,
  'made:since', made, 'made:previous', made, 'made:bytes', 0)
return 'OK'`,
};

/** Makes a list of a queue's log, unless it is there: with its first element, which stands for none. KEYS: 1 the list. */
export const createLogScript: Script = {
  name: 'unseenCreateLog',
  numberOfKeys: 1,
  lua: `
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('RPUSH', KEYS[1], '') end
return 'OK'`,
};

/**
 * Records the start of an operation on several segments in the filter's first segment, before any of them changes. See
 * RECALL.
 */
export const beginScript: Script = {
  name: 'unseenBegin',
  numberOfKeys: 4,
  lua: `${ALLOW_OOM}${CHECK_CHANGE}${RECALL}
local answers = ''
${RECORD}
return {answers, tonumber(kept[2])}`,
};

/** Answers an operation from its record, or with the status reply NONE. See RECALL. */
export const recallScript: Script = {
  name: 'unseenRecall',
  numberOfKeys: 4,
  lua: `${CHECK_CHANGE}${RECALL}
return redis.status_reply('NONE')`,
};

/** Leases that are counted as ended at most, while nobody has come to move their entries: that takes time. */
const DUE_LEASES_COUNTED = 50;

const COUNTS = `${NOW}
local counts = call('HMGET', meta, 'items', 'nonzero', 'saturated', 'added', 'duplicate', 'removed', 'refused',
  'caller:previous', 'made:previous', 'created')
local created = tonumber(table.remove(counts))
local stats = {now}
for n = 1, #counts do stats[n + 1] = tonumber(counts[n]) end
for n = #stats - 1, #stats do if stats[n] <= created then stats[n] = 0 end end
`;

/**
 * Whether the pieces of layers are whole. ARGV from `argsAt` on: of each layer from the first or second on the bytes of a piece, and how
 * many there are. Keys beyond the `open` layer may be missing: nothing is in them.
 */
const checkPieces = (keysAt: number, argsAt: number) => `
local open, nextKey, place = tonumber(call('HGET', meta, 'open') or 0), ${keysAt}, 1
for at = ${argsAt}, #ARGV, 2 do
  local bytes, keyEnd = tonumber(ARGV[at]), nextKey + ARGV[at + 1]
  for n = nextKey, keyEnd - 1 do
    local size = call('STRLEN', KEYS[n])
    if size ~= bytes and (size ~= 0 or place <= open) then return redis.status_reply('LOST') end
  end
  nextKey, place = keyEnd, place + 1
end
`;

/**
 * Behind the counts of a segment of a filter that grows: the open layer, and items, non-zero and saturated cells of each
 * layer that there may be but the first. ARGV: 3 how many these are; 4 and on, of those that are known the bytes of a piece
 * and how many there are. The last KEYS are those of the pieces. The first layer is among them if it has several.
 */
const layerCounts = (keysAt: number) => `${checkPieces(keysAt, 4)}
local names = {'open'}
for layer = 1, ARGV[3] do
  for _, name in ipairs({'items:', 'nonzero:', 'saturated:'}) do names[#names + 1] = name .. layer end
end
local counted = call('HMGET', meta, unpack(names))
for n = 1, #names do stats[#stats + 1] = tonumber(counted[n] or 0) end
`;

/** Counts of a segment, as a flat list; of each record window since when there are records, 0 if none has been forgotten. */
export const describeScript: Script = {
  name: 'unseenDescribe',
  numberOfKeys: 2,
  lua: `${CHECK_SEGMENT}${COUNTS}
return stats`,
};

/** As describeScript, of a filter that grows. */
export const describeLayersScript: Script = {
  name: 'unseenDescribeLayers',
  numberOfKeys: 2,
  moreKeys: true,
  lua: `${CHECK_SEGMENT}${COUNTS}${layerCounts(3)}
return stats`,
};

const QUEUE_COUNTS = `
local keys, delayed = {}, call('ZCOUNT', queue.delayed, 0, now)
local ends = call('ZRANGEBYSCORE', queue.ends, 0, now, 'LIMIT', 0, ${DUE_LEASES_COUNTED})
for n = 1, #ends do keys[n] = sub(ends[n], 1, 6) end
local opened, leased = queue.open(keys), queue.leased
for n = 1, #ends do
  local lease = opened[keys[n]]
  if lease and #ends[n] > 6 then
    leased = leased - 1
  elseif lease then
    local _, ended = string.gsub(char(unpack(lease.states)), '${String.fromCharCode(LEASED)}', '')
    leased = leased - ended
  end
end
local first = call('LINDEX', queue.logs[1 - queue.tail], 1) or call('LINDEX', queue.logs[queue.tail], 1)
local age = first and math.max(0, math.floor(now / 1000) - unpacked('>I4', first, 11)) or -1
local queued = {queue.waiting + delayed + queue.leased - leased, leased, queue.later - delayed, queue.letterCount,
  sizes[7] + sizes[8] - 2, age}
for n = 1, #queued do stats[#stats + 1] = queued[n] end
`;

/**
 * As describeScript, with the counts of QueueStats behind it; an age of -1 stands for none. What is due counts as waiting.
 * KEYS: 3 and on, the queue's.
 */
export const describeQueueScript: Script = {
  name: 'unseenDescribeQueue',
  numberOfKeys: 10,
  lua: `${CHECK_QUEUE}${LEASES}${COUNTS}${QUEUE_COUNTS}
return stats`,
};

/**
 * As describeQueueScript, of a filter that ages. KEYS: 11 what is hidden, 12 and on the pieces. ARGV: 3 how many layers there may be
 * but the first, 4 ms of an epoch, 5 and on as 4 and on of the others. Behind the counts are the open layer, the present epoch and how
 * many items are hidden; then of each layer its saturated cells, and the live ones by their last epoch, the present first.
 */
export const describeAgedScript: Script = {
  name: 'unseenDescribeAged',
  numberOfKeys: 11,
  moreKeys: true,
  lua: `${CHECK_QUEUE}${LEASES}${COUNTS}${QUEUE_COUNTS}${checkPieces(12, 5)}
local kept = tonumber(call('HGET', meta, 'epoch') or 0)
local epoch = math.max(kept, math.floor(now / ARGV[4]))
local hidden = call('ZCOUNT', KEYS[11], string.format('%.0f', epoch), '+inf')
for _, count in ipairs({open, epoch, hidden}) do stats[#stats + 1] = count end
for layer = 0, tonumber(ARGV[3]) do
  local suffix = layer == 0 and '' or ':' .. layer
  local found = call('HMGET', meta, 'saturated' .. suffix, 'ring' .. suffix)
  local text = found[2] or ''
  stats[#stats + 1] = tonumber(found[1] or 0)
  for left = 0, ${CYCLE - 1} do
    local isKept = text ~= '' and epoch + left < kept + ${CYCLE}
    stats[#stats + 1] = isKept and struct.unpack('>I4', text, (epoch + left) % ${CYCLE} * 4 + 1) or 0
  end
end
return stats`,
};

/** As describeQueueScript, of a filter that grows. */
export const describeQueueLayersScript: Script = {
  name: 'unseenDescribeQueueLayers',
  numberOfKeys: 10,
  moreKeys: true,
  lua: `${CHECK_QUEUE}${LEASES}${COUNTS}${QUEUE_COUNTS}${layerCounts(11)}
return stats`,
};
