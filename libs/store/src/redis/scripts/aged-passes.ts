import { cleanItem, judgeItem, judgeVisit, raiseAged, restOf, writeAged } from './aged-cells.js';
import {
  AGED_LAYER_ARGS,
  type AgedLists,
  CHANGE,
  fieldsOf,
  type Frame,
  metaName,
  pageBytesAt,
} from './aged-segment.js';
import { firstWithArgs, type LayerShape, pass, passThrough } from './layers.js';
import { QUEUE_FIELD } from './queue-state.js';
import { checkSegment, RECORD_FIELDS, recordWith } from './script.js';
import { END_OF_LIST, SYNC } from './synced.js';

/*
 * What the scripts of aged.ts do with the items of a batch in the layers of a list, and what they begin and end with.
 */

export type Of = 'own' | 'sync';

/** An element of a table of passes for each layer of a list. */
export function passes(
  lists: AgedLists,
  of: Of,
  { argsAt, packed }: Frame,
  visit: (shape: LayerShape, place: number, isLast: boolean) => Parameters<typeof pass>[3],
): string {
  const places = { argsAt, packed, first: firstWithArgs(lists.own), args: AGED_LAYER_ARGS };
  const layers = of === 'own' ? lists.own : (lists.sync?.layers ?? []);
  const from = of === 'own' ? 0 : lists.own.length;
  return layers
    .map((shape, n) => pass(places, shape, from + n, visit(shape, from + n, n === layers.length - 1)))
    .join('\n');
}

/** Runs the passes of a list: of all its layers, or up to the open one. */
export function through(
  lists: AgedLists,
  of: Of,
  name: string,
  left: string,
  upTo: 'open' | 'last' = 'open',
): string {
  const from = of === 'own' ? 0 : lists.own.length;
  const layers = of === 'own' ? lists.own.length : (lists.sync?.layers.length ?? 0);
  const open = of === 'own' ? 'open' : `${from} + syncOpen`;
  return passThrough(name, String(from), upTo === 'open' ? open : String(from + layers - 1), 1, left);
}

/** Which items a list claims that are not hidden in it: what is left to them as \`found[n]\`. */
export const claim = (
  lists: AgedLists,
  of: Of,
  frame: Frame,
  { done, left, found, gone }: Record<'done' | 'left' | 'found' | 'gone', string>,
) =>
  passes(lists, of, frame, (shape) => ({
    out: done,
    item: `${judgeItem(shape)}
      if live then
        ${done}[n], ${left} = true, ${left} - 1
        if not ${gone}[n] then ${found}[n] = ${restOf(shape)} end
      end`,
  }));

/**
 * Adds the items to a list, each for as many epochs as `lasts` says, but those in \`only\` just where they are claimed. What was not there,
 * or was hidden, is in \`fresh\`.
 */
export const addTo = (
  lists: AgedLists,
  of: Of,
  frame: Frame,
  {
    done,
    left,
    fresh,
    gone,
    only,
    shown,
    lasts,
  }: Record<'done' | 'left' | 'fresh' | 'gone' | 'only' | 'shown' | 'lasts', string>,
) => {
  const openName = of === 'own' ? 'open' : 'syncOpen';
  const from = of === 'own' ? 0 : lists.own.length;
  return passes(lists, of, frame, (shape, place, isLast) => ({
    out: done,
    before: `local ring
  local size, share, saturated = stored[${place}], shares[${place}], 0`,
    item: `local last = ${lasts}${judgeVisit(shape)}
      if lasting and not ${gone}[n] then
        ${done}[n], ${left} = true, ${left} - 1
      else
        ${isLast ? '' : `if not live and not ${only}[n] and ${openName} == ${place - from} and size >= share then ${openName} = ${place - from + 1} end`}
        if live or ${openName} == ${place - from} and not ${only}[n] then
          local up = (${gone}[n] or not live) and 16 or 0${cleanItem(shape, pageBytesAt(lists, place))}
          ring = ring or ringOf(${place})
          ${raiseAged(shape)}
          ${writeAged(shape)}
          dirty[${place}] = true
          if up == 16 then
            ${fresh}[n] = true
            if not live then size = size + 1 end
            if ${gone}[n] then ${shown}[#${shown} + 1] = hashes[n] end
          end
          ${done}[n], ${left} = true, ${left} - 1
        end
      end`,
    after: `stored[${place}] = size
  if saturated ~= 0 then call('HINCRBY', meta, '${metaName(lists, place, 'saturated')}', saturated) end`,
  }));
};

/** The share of each layer of items in this segment, by its place. */
export const SHARES = ({ own }: AgedLists) => `
local shares = {[0] = tonumber(ARGV[${CHANGE.share}])}
for at = ${CHANGE.argsAt}, #ARGV, ${AGED_LAYER_ARGS} do
  shares[${firstWithArgs(own)} + (at - ${CHANGE.argsAt}) / ${AGED_LAYER_ARGS}] = tonumber(ARGV[at + 2])
end
local function room(from, last)
  local sum = 0
  for place = from, last do sum = sum + math.max(0, shares[place] - stored[place]) end
  return sum
end`;

export const SAVE_OPEN = `
if open ~= opened then call('HSET', meta, 'open', open) end
if syncOpen ~= syncOpened then call('HSET', meta, '${SYNC}open', syncOpen) end`;

export function reply({ own, sync }: AgedLists, answers: string, sweep = '0'): string {
  const stored = (from: number, layers: number) =>
    Array.from({ length: layers }, (_, n) => `stored[${from + n}]`);
  const ofOwn = [answers, 'stored[0]', sweep, 'open', ...stored(1, own.length - 1)];
  const ofSync = sync ? [END_OF_LIST, 'syncOpen', ...stored(own.length, sync.layers.length)] : [];
  return `return {${[...ofOwn, ...ofSync].join(', ')}}`;
}

export const head = (lists: AgedLists, queued: boolean) =>
  checkSegment(...RECORD_FIELDS, ...(queued ? [`'${QUEUE_FIELD}'`] : []), ...fieldsOf(lists));

export const RECORDED = recordWith();

export const show = (key: number, shown: string) =>
  `if #${shown} > 0 then call('ZREM', KEYS[${key}], unpack(${shown})) end`;

export const addSyncCount = (name: string, value: string) =>
  `if ${value} ~= 0 then call('HINCRBY', meta, '${SYNC}${name}', ${value}) end`;
