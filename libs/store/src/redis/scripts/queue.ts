import { MAX_LEASE_MS } from '../../store.js';
import type { Script } from './script.js';
import { ALLOW_OOM, CHECK_SEGMENT, RECALL, RECORD, WAITING } from './script.js';

/** KEYS: 5 queue-entries, 6 queue-order. An entry is "<lease> <attempt> <payload>"; for its score see WAITING. */
const QUEUE = `
local entries, order = KEYS[5], KEYS[6]
if call('HEXISTS', entries, '') == 0 or not call('ZSCORE', order, '') then return redis.status_reply('LOST') end
`;

/**
 * lease: hides up to so many visible entries for a while: those whose lease has ended, or is too long to be true, first,
 * then the waiting. ARGV: 9 entries, 10 lease in ms, 11 bytes of payloads, 12 '1' if the first entry may have more.
 * Answers, per entry: "<lease> <attempt> <bytes of payload> " then the 16 bytes of its hash and the payload; at the end "."
 * if the bytes were too few for another entry that is due.
 */
export const leaseScript: Script = {
  name: 'unseenLease',
  numberOfKeys: 6,
  lua: `${CHECK_SEGMENT}${RECALL}${QUEUE}
local ids, attempts, payloads, wanted = {}, {}, {}, tonumber(ARGV[9])
local left, cut = tonumber(ARGV[11]), ''
for _, range in ipairs({{0, now}, {'(' .. string.format('%.0f', now + ${MAX_LEASE_MS}), '(+inf'}, {'-inf', '(0'}}) do
  local due = {}
  if #ids < wanted and cut == '' then
    due = call('ZRANGEBYSCORE', order, range[1], range[2], 'LIMIT', 0, wanted - #ids)
  end
  for n = 1, #due do
    local entry = call('HGET', entries, due[n])
    if not entry then return redis.error_reply('UNSEEN a queued entry is missing') end
    local attempt, payload = string.match(entry, '^%d+ (%d+) (.*)$')
    left = left - #payload
    if left < 0 and (#ids > 0 or ARGV[12] ~= '1') then
      cut = '.'
      break
    end
    local at = #ids + 1
    ids[at], attempts[at], payloads[at] = due[n], string.format('%d', attempt + 1), payload
  end
end
local out = {}
local last = #ids > 0 and call('HINCRBY', meta, 'leases', #ids) or 0
local hidden = string.format('%.0f', now + ARGV[10])
for n = 1, #ids do
  local id, attempt, payload = ids[n], attempts[n], payloads[n]
  local lease = string.format('%.0f', last - #ids + n)
  call('HSET', entries, id, lease .. ' ' .. attempt .. ' ' .. payload)
  call('ZADD', order, hidden, id)
  out[n] = lease .. ' ' .. attempt .. ' ' .. #payload .. ' ' .. id .. payload
end
local answers = concat(out) .. cut
${RECORD}
return {answers, tonumber(kept[2])}`,
};

/**
 * settle: ack or release of leases. ARGV: 9 ids, 10 'ack' or 'release', 11 per id the 16 bytes of the item's hash
 * and 16 hex digits of the lease.
 */
export const settleScript: Script = {
  name: 'unseenSettle',
  numberOfKeys: 6,
  lua: `${ALLOW_OOM}${CHECK_SEGMENT}${RECALL}${QUEUE}
local out, packed, given = {}, ARGV[11], tonumber(call('HGET', meta, 'leases'))
if not given then return redis.status_reply('LOST') end
for n = 1, tonumber(ARGV[9]) do
  local id = sub(packed, n * 32 - 31, n * 32 - 16)
  local lease = tonumber(sub(packed, n * 32 - 15, n * 32), 16)
  local entry = call('HGET', entries, id)
  if not entry or lease > given then
    out[n] = '0'
  elseif tonumber(string.match(entry, '^(%d+) ')) ~= lease or tonumber(call('ZSCORE', order, id)) <= now then
    out[n] = '2'
  else
    if ARGV[10] == 'ack' then
      call('HDEL', entries, id)
      call('ZREM', order, id)
    else
      call('ZADD', order, string.format('%.3f', now - ${WAITING}), id)
    end
    out[n] = '1'
  end
end
local answers = concat(out)
${RECORD}
return {answers, tonumber(kept[2])}`,
};
