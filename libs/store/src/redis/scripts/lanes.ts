import { HEAD_BYTES, HOST_BYTES, LEASE_ENTRIES, newLogs } from './queue-state.js';

/*
 * Lua for the lanes of an open queue (queue-state.ts). A lane holds waiting entries, which leave in the order in which
 * they came. A plain queue has one lane, whose id is empty. Entries are in chunks, fields of one hash:
 *
 *   lane id .. chunk number (6 bytes) -> entries, one after the other
 *
 * A change appends its own chunks, and rewrites the last chunk only while that is small. Taking entries from the head
 * chunk moves `headAt` and rewrites nothing. A chunk without waiting entries is deleted, and its number is never
 * reused. So a sweep or an export can stop halfway and continue. A sweep leaves gaps in the numbers.
 *
 * Each priority has such a log. The lane itself is the log for normal entries. `lane.logs` has the logs for high (1)
 * and low (2) entries, whose ids are the lane's id followed by this number. A lane without such entries may lack them.
 *
 * A lane's record:
 *
 *   head      of each log: number of its first chunk
 *   headAt    of each log: bytes taken from its first chunk
 *   next      of each log: number of its next new chunk
 *   waiting   entries in all logs, including forgotten ones
 */

/**
 * Maximum size, in bytes, of a chunk with several entries, and of a last chunk that may still be rewritten. With a
 * string's header, such chunks fit jemalloc's size classes of 4,096 and 1,280 bytes.
 */
export const CHUNK_BYTES = 4_090;
export const JOINED_BYTES = 1_274;

/** Maximum number of waiting entries that one lease reads. */
const READ_AT_MOST = 1_000;
/** Maximum number of chunks to read in one command. */
const READ_AHEAD = 16;
/** Maximum number of gaps that a description skips to find the first entry. */
const GAPS_SKIPPED = 1_000;

/** Lua: the field for a chunk of a log. */
export const chunkOf = (log: string, number: string): string => `${log}.id .. pack('>I6', ${number})`;

/** `split` returns up to `most` entries of a chunk, starting after its first `at` bytes. */
export const SPLIT = `
local function split(chunk, at, most)
  local entries, count, size = {}, 0, #chunk
  while at < size and count < most do
    local a, b, c, d = byte(chunk, at + 31, at + 34)
    local last = at + ${HEAD_BYTES} + ((a * 256 + b) * 256 + c) * 256 + d
    count = count + 1
    entries[count] = sub(chunk, at + 1, last)
    at = last
  end
  return entries
end
`;

/**
 * `queue.append` adds entries to the ends of lanes. `lists` has at least one entry for each lane. `queue.wake` wakes
 * waiting callers.
 */
export const APPEND = `
function queue.wake()
  if queue.awaited > now then redis.pcall('PUBLISH', 'unseen:queue:' .. sub(ARGV[1], 1, 16), '') end
end
-- Splits each lane's entries by log. Returns three lists of equal length: lanes, logs, and their entries.
local function deal(lanes, lists)
  local owners, logs, dealt = {}, {}, {}
  for l = 1, #lanes do
    local lane, byPriority = lanes[l], {[0] = {}, {}, {}}
    for _, entry in ipairs(lists[l]) do
      local list = byPriority[byte(entry)]
      list[#list + 1] = entry
    end
    for priority = 0, 2 do
      if #byPriority[priority] > 0 then
        if priority > 0 and not lane.logs then lane.logs = ${newLogs('lane.id')} end
        owners[#owners + 1], logs[#logs + 1] = lane, priority == 0 and lane or lane.logs[priority]
        dealt[#dealt + 1] = byPriority[priority]
      end
    end
  end
  return owners, logs, dealt
end
function queue.append(lanes, lists)
  local owners, logs, dealt = lanes, lanes, lists
  if queue.ordered then owners, logs, dealt = deal(lanes, lists) end
  local chunks, asked, joins, joined = {}, {}, {}, {}
  for l = 1, #logs do
    local lane, log, entries = owners[l], logs[l], dealt[l]
    local number, first, size, count = log.next, 1, 0, #entries
    for n = 1, count do
      local bytes = #entries[n]
      if size > 0 and size + bytes > ${CHUNK_BYTES} then
        chunks[#chunks + 1] = ${chunkOf('log', 'number')}
        chunks[#chunks + 1] = concat(entries, '', first, n - 1)
        number, first, size = number + 1, n, 0
      end
      size = size + bytes
    end
    chunks[#chunks + 1] = ${chunkOf('log', 'number')}
    chunks[#chunks + 1] = concat(entries, '', first)
    if size <= ${JOINED_BYTES} and log.head < number and number == log.next then
      asked[#asked + 1] = ${chunkOf('log', 'number - 1')}
      joins[#asked], joined[#asked] = #chunks, log
    end
    log.next, lane.waiting, lane.changed = number + 1, lane.waiting + count, true
  end
  local lasts = #asked > 0 and call('HMGET', queue.chunks, unpack(asked)) or {}
  for n = 1, #asked do
    local last, at, log = lasts[n], joins[n], joined[n]
    if last and #last + #chunks[at] <= ${JOINED_BYTES} then
      chunks[at - 1], chunks[at] = asked[n], last .. chunks[at]
      log.next = log.next - 1
    end
  end
  each('HSET', queue.chunks, chunks)
end
`;

/**
 * `queue.take` takes entries from the head of a log of a lane until `taken` has `most`, and drops forgotten ones.
 * `taken`:
 *
 *   count     entries
 *   records   the entries, LEASE_ENTRIES in each; `parts` has the entries of the next record
 *   left      bytes that their payloads may still have; if `any`, the first entry may have more
 *   used      chunks that are used up
 *   read      entries that were read, at most READ_AT_MOST; a gap counts as one
 *   rest      why it stopped early: 'full' if the next entry would exceed the bytes, 'unread' if it has read enough
 *
 * In a per-host queue, the caller may have read the `first` chunk of the log.
 *
 * The caller deletes the used chunks only after its first write that needs memory. At the memory limit, Redis refuses
 * that write only if nothing was written before. Needs marks.
 */
export const take = (hosts: boolean): string => `${SPLIT}
local NONE = {}
function queue.take(lane, log, taken, most${hosts ? ', first' : ''})
  local number, at, passed, read = log.head, log.headAt, 0, taken.read
  local records, parts, count, left = taken.records, taken.parts, taken.count, taken.left
  local chunks, next, ahead = NONE, 1, 1
  while count < most and number < log.next and not taken.rest do
    if read >= ${READ_AT_MOST} then taken.rest = 'unread' break end
    local chunk${hosts ? ' = first' : ''}
    if not chunk then
      if next > #chunks then
        local fields = {}
        for n = 1, math.min(ahead, log.next - number) do fields[n] = ${chunkOf('log', 'number + n - 1')} end
        chunks, next = call('HMGET', queue.chunks, unpack(fields)), 1
      end
      chunk, next = chunks[next] or '', next + 1
    end
    ${hosts ? 'first = nil' : ''}
    local size, start, from, before, n, gone, checked = #chunk, at, at, passed, 0, NONE, 0
    while at < size and count < most do
      if n == checked and queue.marked > 0 then
        local found = split(chunk, at, most - count)
        gone, n, checked = queue.forgotten(found), 0, #found
      end
      local a, b, c, d = byte(chunk, at + 31, at + 34)
      local payload = ((a * 256 + b) * 256 + c) * 256 + d
      local last = at + ${HEAD_BYTES} + payload
      n = n + 1
      if gone[n] then
        if from < at then parts[#parts + 1] = sub(chunk, from + 1, at) end
        from = last
      else
        left = left - payload${hosts ? ` + ${HOST_BYTES}` : ''}
        if left < 0 and (count > 0 or not taken.any) then taken.rest = 'full' break end
        count = count + 1
        if count % ${LEASE_ENTRIES} == 0 then
          parts[#parts + 1] = sub(chunk, from + 1, last)
          records[#records + 1], parts, from = concat(parts), {}, last
        end
      end
      at, passed = last, passed + 1
    end
    if from < at then parts[#parts + 1] = sub(chunk, from + 1, at) end
    local seen = passed - before
    read = read + (seen > 0 and seen or 1)
    if count < most then
      ahead = seen == 0 and ${READ_AHEAD} or math.min(${READ_AHEAD}, math.ceil((most - count) * (at - start) / (seen * size)))
    end
    if at >= size then
      if size > 0 then taken.used[#taken.used + 1] = ${chunkOf('log', 'number')} end
      number, at = number + 1, 0
    end
  end
  if number > log.head or at > log.headAt then
    log.head, log.headAt, lane.waiting, lane.changed = number, at, lane.waiting - passed, true
  end
  taken.parts, taken.count, taken.left, taken.read = parts, count, left, read
end
`;

/** Lua: takes entries from the logs of a lane, highest priority first. `first`: see `take`. */
export const takeFrom = (lane: string, most: string, first?: string): string => `
if ${lane}.logs then queue.take(${lane}, ${lane}.logs[1], taken, ${most}) end
queue.take(${lane}, ${lane}, taken, ${most}${first === undefined ? '' : `, ${first}`})
if ${lane}.logs then queue.take(${lane}, ${lane}.logs[2], taken, ${most}) end`;

/**
 * `queue.sweepChunks` drops forgotten entries from chunks, and returns how many entries waited in them. It takes each
 * chunk's lane, log, number and bytes. Needs marks.
 */
export const SWEEP = `${SPLIT}
function queue.sweepChunks(chunks)
  local found, ends, written, over = {}, {}, {}, {}
  for c = 1, #chunks do
    local _, log, number, chunk = unpack(chunks[c])
    local entries = split(chunk, number == log.head and log.headAt or 0, math.huge)
    for n = 1, #entries do found[#found + 1] = entries[n] end
    ends[c] = #found
  end
  local gone, from = queue.forgotten(found), 1
  for c = 1, #chunks do
    local lane, log, number = unpack(chunks[c])
    local field, live, count = ${chunkOf('log', 'number')}, {}, ends[c] - from + 1
    for n = from, ends[c] do
      if not gone[n] then live[#live + 1] = found[n] end
    end
    if #live < count then
      queue.set('rewrites', queue.rewrites + 1)
      lane.waiting, lane.changed = lane.waiting - count + #live, true
      if number == log.head then log.headAt = 0 end
      if #live > 0 then written[#written + 1], written[#written + 2] = field, concat(live)
      else over[#over + 1] = field end
    end
    if #live == 0 and number == log.head then log.head, log.headAt, lane.changed = number + 1, 0, true end
    from = ends[c] + 1
  end
  each('HSET', queue.chunks, written)
  each('HDEL', queue.chunks, over)
  return #found
end
`;

/** `queue.oldest` returns when a lane's first entry was discovered, in s, if one waits there. */
export const OLDEST = `
local function oldest(log)
  for number = log.head, math.min(log.next - 1, log.head + ${GAPS_SKIPPED}) do
    local chunk = call('HGET', queue.chunks, ${chunkOf('log', 'number')})
    if chunk then return unpacked('>I4', chunk, (number == log.head and log.headAt or 0) + 11) end
  end
end
function queue.oldest(lane)
  local logs = lane.logs
  return logs and oldest(logs[1]) or oldest(lane) or logs and oldest(logs[2])
end
`;
