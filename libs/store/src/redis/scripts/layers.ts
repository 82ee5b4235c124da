import {
  headBytes,
  type ItemShape,
  leastCell,
  lowerCells,
  raiseCells,
  readItem,
  someZero,
  suffix,
  writeItem,
} from './cells.js';
import { FORGET, openLine } from './items.js';
import { bringBack, LEASES, MARKS, MOVE_DUE, QUEUE_FIELD } from './queue-state.js';
import { addCounts, ALLOW_OOM, checkSegment, RECALL, RECORD, RECORD_FIELDS, type Script } from './script.js';

/**
 * The scripts over a packed batch of a filter that grows. A script gets the items once for each layer that the caller
 * knows, and goes through the layers one after the other. What a layer answers for an item does not depend on other
 * layers, so the answers are those of item by item.
 *
 * A segment's meta says which of the layers is `open` in it, by number from 0; older ones are closed, and newer ones have
 * nothing of the segment yet. If a layer is needed that the caller does not know, the script changes nothing and answers
 * with the status reply GROW. If keys are missing of layers that have nothing of the segment, since a failover may have
 * lost them, it answers UNMADE with the number of the first of these.
 *
 * Behind the KEYS of scripts/items.ts are those of the other layers' pieces that the batch touches. Behind its ARGV are,
 * of each of these layers, LAYER_ARGS: the bytes of a piece, how many keys it has, its share of items in this segment,
 * the packed items and, if it has several pieces, of each item the number of its key (2 bytes; else ''). The first layer is among
 * them if it has several pieces, as it may after a sync.
 * Behind answers and items are in the reply: 1 if it is time for a step of a sweep, else 0; the open layer; and the items
 * of the other layers.
 */
export interface LayerShape extends ItemShape {
  /** Whether it has several pieces in a segment. */
  readonly split: boolean;
}

export const LAYER_ARGS = 5;

/** The place of the first layer that has LAYER_ARGS. */
export const firstWithArgs = ([first]: readonly LayerShape[]) => (first?.split ? 0 : 1);

/** The text for each layer, oldest first. */
export const layered = (shapes: readonly LayerShape[], text: (shape: LayerShape, layer: number) => string) =>
  shapes.map(text).join('\n');

export const nameOf = (verb: string, shapes: readonly LayerShape[]) =>
  `unseenLayers${verb}${shapes.map((shape) => suffix(shape) + (shape.split ? 's' : '')).join('.')}`;

/** The name in meta of a count of a layer. */
export const countOf = (count: 'items' | 'nonzero' | 'saturated' | 'ring', layer: number) =>
  layer === 0 ? count : `${count}:${layer}`;

/** What is read of meta: which layer is open, and the items of all layers but the first. */
export const growthFields = (layers: number) =>
  ["'open'"].concat(Array.from({ length: layers - 1 }, (_, n) => `'${countOf('items', n + 1)}'`));

/** Where checkPieces finds what it needs. */
export interface Pieces {
  /** What meta has of the open layer, as Lua. */
  readonly open: string;
  readonly keysAt: number;
  readonly argsAt: number;
  /** How many ARGV a layer has, the first two of which are the bytes of a piece and the number of keys. */
  readonly args: number;
  /** The place of the first of these layers. */
  readonly first: number;
  /** Whether the layer at `place` may have no keys, as Lua: one that has nothing of the segment may. */
  readonly mayLack?: string;
  /** What is done if a key is missing of such a layer, as Lua. */
  readonly unmade?: string;
}

/** Finds the keys of the pieces, by the place of their layer, as `firstKey`, and looks whether they are whole. */
export const checkPieces = ({
  open,
  keysAt,
  argsAt,
  args,
  first,
  mayLack = 'place > open',
  unmade = "return redis.status_reply('UNMADE ' .. place)",
}: Pieces) => `
local open, firstKey, nextKey, place = tonumber(${open} or 0), {[0] = 1}, ${keysAt}, ${first}
for at = ${argsAt}, #ARGV, ${args} do
  local bytes, keyEnd = tonumber(ARGV[at]), nextKey + ARGV[at + 1]
  firstKey[place] = nextKey
  for n = nextKey, keyEnd - 1 do
    local size = call('STRLEN', KEYS[n])
    if size == 0 and ${mayLack} then
      ${unmade}
    elseif size ~= bytes then
      return redis.status_reply('LOST')
    end
  end
  nextKey, place = keyEnd, place + 1
end
`;

/** Where things are in `kept` and in ARGV. */
export interface Places {
  readonly fieldAt: number;
  readonly argsAt: number;
  /** ARGV of the number of items; that of the values of a cell is the next. */
  readonly count: number;
  /** ARGV of the items in the first layer, unless that is among those with LAYER_ARGS. */
  readonly packed: number;
  /** The place of the first layer that has LAYER_ARGS. */
  readonly first: number;
  /** How many ARGV a layer has, if not LAYER_ARGS. */
  readonly args?: number;
}

/**
 * Opens a script on layers, behind checkPieces: `stored`, the items of each layer; `out`, the answers so far, by place in
 * the batch; and `left`, how many are to come.
 */
function openLayers(
  shapes: readonly LayerShape[],
  { fieldAt, count }: Pick<Places, 'fieldAt' | 'count'>,
): string {
  return `
local stored = {[0] = tonumber(kept[2])}
if open >= ${shapes.length} then return redis.status_reply('GROW') end
for layer = 1, ${shapes.length - 1} do stored[layer] = tonumber(kept[${fieldAt} + layer] or 0) end
local count, values = tonumber(ARGV[${count}]), tonumber(ARGV[${count + 1}])
local out, left = {}, count`;
}

/**
 * An element of a Lua table of passes: a function that takes the items without an answer in `out` through a layer. It is a
 * function since the unrolled text of a layer may need nearly as many local variables as one can have. `item` is what is
 * done with an item whose cells have been read, `before` and `after` what is done before and after all of them.
 */
export function pass(
  { argsAt, packed, first, args = LAYER_ARGS }: Pick<Places, 'argsAt' | 'packed' | 'first' | 'args'>,
  shape: LayerShape,
  layer: number,
  visit: { readonly before?: string; readonly item: string; readonly after?: string; readonly out?: string },
): string {
  const at = argsAt + (layer - first) * args;
  const { before = '', item, after = '', out = 'out' } = visit;
  return `
[${layer}] = function()
  local packed, at = ARGV[${layer < first ? packed : at + 3}], 1
  ${shape.split ? `local places, first = ARGV[${at + 4}], firstKey[${layer}]` : `local cells = KEYS[firstKey[${layer}]]`}
  ${before}
  for n = 1, count do
    if ${out}[n] then
      local a, b = byte(packed, at, at + 1)
      at = at + ${headBytes(shape)} + a + b
    else
      ${
        shape.split
          ? `local high, low = byte(places, 2 * n - 1, 2 * n)
      local cells = KEYS[first + high * 256 + low]`
          : ''
      }${readItem(shape)}
      ${item}
    end
  end
  ${after}
end,`;
}

/** Takes what has no answer through a layer after the other; `left` says how many there are. */
export const passThrough = (passes: string, from: string, to: string, step: 1 | -1, left = 'left') => `
for layer = ${from}, ${to}, ${step} do
  if ${left} > 0 then ${passes}[layer]() end
end`;

/** Lua that answers: the text of answers, and 0 or 1. */
const reply = (shapes: readonly LayerShape[], answers: string, sweep = '0') =>
  `return {${[answers, 'stored[0]', sweep, 'open', ...shapes.slice(1).map((_, n) => `stored[${n + 1}]`)].join(', ')}}`;

/** Whether the layer claims an item: its answer is `claimed` then. */
export const claims = ({ hashes }: LayerShape, claimed: string, out = 'out', left = 'left') => ({
  out,
  item: `if not (${someZero(hashes)}) then ${out}[n], ${left} = ${claimed}, ${left} - 1 end`,
});

/** How a count of a layer is named in meta. */
export type CountName = (count: 'items' | 'nonzero' | 'saturated') => string;

/** Adds what has changed to the counts of a layer: `size`, the new number of items, and these others. */
export const countLayer = (
  place: number,
  name: CountName,
  ...others: readonly ('nonzero' | 'saturated')[]
) => `
  if size ~= stored[${place}] then
    call('HINCRBY', meta, '${name('items')}', size - stored[${place}])
    stored[${place}] = size
  end
  ${others.map((count) => `if ${count} ~= 0 then call('HINCRBY', meta, '${name(count)}', ${count}) end`).join('\n  ')}`;

/** First lines of a script that changes layers. */
const checkChange = (
  layers: number,
  queued: boolean,
  {
    fieldAt,
    keysAt,
    argsAt,
    first,
  }: Pick<Places, 'fieldAt' | 'argsAt' | 'first'> & { readonly keysAt: number },
) =>
  checkSegment(...RECORD_FIELDS, ...(queued ? [`'${QUEUE_FIELD}'`] : []), ...growthFields(layers)) +
  checkPieces({ open: `kept[${fieldAt}]`, keysAt, argsAt, args: LAYER_ARGS, first });

/** Places in KEYS and in \`kept\` behind those of all changes, and of the queue if there is one. */
export const changePlaces = (queued: boolean) => ({
  keysAt: queued ? 13 : 5,
  fieldAt: 3 + RECORD_FIELDS.length + (queued ? 1 : 0),
});

/**
 * add, of the layers. ARGV: as addScript, 13 and 14 without a queue ''; 15 '1' if there may be more layers than these,
 * 16 the first layer's share of items in this segment; 17 and on, those of the other layers.
 *
 * A layer that has its share is closed when an item comes that would be new in it. The last layer takes all that come. So if
 * it is not the last that there may be, what is new is counted first, each item once.
 */
export function addLayersScript(shapes: readonly LayerShape[], queued: boolean): Script {
  const layers = shapes.length;
  const places = { ...changePlaces(queued), argsAt: 17, count: 9, packed: 12, first: firstWithArgs(shapes) };
  const claim = layered(shapes, (shape, layer) => pass(places, shape, layer, claims(shape, `'1'`)));
  const add = layered(shapes, (shape, layer) => {
    const k = shape.hashes;
    const last = layer === layers - 1;
    return pass(places, shape, layer, {
      before: `local size, share, nonzero, saturated = stored[${layer}], shares[${layer}], 0, 0`,
      item: `local fresh = ${someZero(k)}
      ${last ? '' : `if fresh and open == ${layer} and size >= share then open = ${layer + 1} end`}
      if not fresh or open == ${layer} then
        if fresh then size, added = size + 1, added + 1 else duplicate = duplicate + 1 end
        if fresh or multiset then
    ${raiseCells(k)}
          ${writeItem(k)}
        end
        out[n], left = fresh and '1' or '0', left - 1
      end`,
      after: countLayer(layer, (count) => countOf(count, layer), 'nonzero', 'saturated'),
    });
  });
  return {
    name: nameOf(queued ? 'AddQueued' : 'Add', shapes),
    numberOfKeys: queued ? 12 : 4,
    moreKeys: true,
    lua: `${checkChange(layers, queued, places)}${RECALL}${openLayers(shapes, places)}
local multiset, added, duplicate, opened = ARGV[11] == '', 0, tonumber(ARGV[11]) or 0, open
local shares = {[0] = tonumber(ARGV[16])}
for at = ${17 + (1 - places.first) * LAYER_ARGS}, #ARGV, ${LAYER_ARGS} do shares[#shares + 1] = tonumber(ARGV[at + 2]) end
if ARGV[15] == '1' then
  local room = 0
  for layer = open, ${layers - 1} do room = room + math.max(0, shares[layer] - stored[layer]) end
  if count > room then
    local passes = {${claim}
    }
    ${passThrough('passes', '0', 'open', 1)}
    local packed, at, seen = ARGV[${places.first === 1 ? places.packed : places.argsAt + 3}], 1, {}
    for n = 1, count do
      local a, b = byte(packed, at, at + 1)
      local next = at + ${headBytes(shapes[0] as LayerShape)} + a + b
      if not out[n] then
        local item = sub(packed, at, next - 1)
        if not seen[item] then seen[item], room = true, room - 1 end
      end
      at = next
    end
    if room < 0 then return redis.status_reply('GROW') end
    out, left = {}, count
  end
end
${queued ? openLine(`${MARKS}${bringBack('ARGV[14]')}${LEASES}${MOVE_DUE}`) : ''}
local passes = {${add}
}
${passThrough('passes', '0', String(layers - 1), 1)}
${queued ? QUEUE_NEW : ''}
local answers = concat(out, '', 1, count)
if open ~= opened then call('HSET', meta, 'open', open) end
${addCounts('added', 'duplicate')}
${RECORD}
${reply(shapes, 'answers')}`,
  };
}

/** Queues what was new, in the order of the batch. */
export const QUEUE_NEW = `
if added > 0 then
  local entries, payloads, p = {}, ARGV[13], 1
  local head = struct.pack('>I4I6I4', 0, line.clock + 1, math.floor(now / 1000))
  for n = 1, count do
    local a1, a2, a3, a4 = byte(payloads, p + 16, p + 19)
    local next = p + 20 + ((a1 * 256 + a2) * 256 + a3) * 256 + a4
    if out[n] == '1' then entries[#entries + 1] = head .. sub(payloads, p, next - 1) end
    p = next
  end
  line.moveDue()
  line.append(entries)
  line.set('clock', line.clock + 1)
  line.save()
end`;

/** ARGV of scripts that read: as checkScript; 6 and on, those of the other layers. */
const READ_PLACES = { fieldAt: 3, argsAt: 6, count: 3, packed: 5 };

/** check, of the layers: the newest first, since most items of a filter that has grown are there. */
export function checkLayersScript(shapes: readonly LayerShape[]): Script {
  return readScript('Check', shapes, (shape) => claims(shape, `'1'`), passThrough('passes', 'open', '0', -1));
}

/** count, of the layers: in the oldest that claims an item. */
export function countLayersScript(shapes: readonly LayerShape[]): Script {
  return readScript(
    'Count',
    shapes,
    (shape) => claims(shape, `char(48 + ${leastCell(shape.hashes)})`),
    passThrough('passes', '0', 'open', 1),
  );
}

function readScript(
  verb: string,
  shapes: readonly LayerShape[],
  visit: (shape: LayerShape) => { readonly item: string },
  run: string,
): Script {
  const places = { ...READ_PLACES, first: firstWithArgs(shapes) };
  const passes = layered(shapes, (shape, layer) => pass(places, shape, layer, visit(shape)));
  return {
    name: nameOf(verb, shapes),
    numberOfKeys: 2,
    moreKeys: true,
    lua: `${checkSegment(...growthFields(shapes.length))}${checkPieces({ open: `kept[${places.fieldAt}]`, keysAt: 3, argsAt: places.argsAt, args: LAYER_ARGS, first: places.first })}${openLayers(shapes, places)}
local passes = {${passes}
}
${run}
for n = 1, count do out[n] = out[n] or '0' end
${reply(shapes, 'concat(out)')}`,
  };
}

/** remove, of the layers. ARGV: as removeScript, 12 and 13 without a queue ''; 14 and on, those of the other layers. */
export function removeLayersScript(shapes: readonly LayerShape[], queued: boolean): Script {
  const layers = shapes.length;
  const places = { ...changePlaces(queued), argsAt: 14, count: 9, packed: 11, first: firstWithArgs(shapes) };
  const forget = `
          gone[2 * removed - 1], gone[2 * removed] = sub(hashes, n * 16 - 15, n * 16), clock`;
  const passes = layered(shapes, (shape, layer) => {
    const k = shape.hashes;
    return pass(places, shape, layer, {
      before: `local size, nonzero = stored[${layer}], 0`,
      item: `if not (${someZero(k)}) then
        local moved, emptied = false, false
    ${lowerCells(k)}
        if moved then
          ${writeItem(k)}
          removed = removed + 1
          if emptied then size = math.max(0, size - 1) end${queued ? forget : ''}
        else
          refused = refused + 1
        end
        out[n], left = moved and '1' or '2', left - 1
      end`,
      after: countLayer(layer, (count) => countOf(count, layer), 'nonzero'),
    });
  });
  return {
    name: nameOf(queued ? 'RemoveQueued' : 'Remove', shapes),
    numberOfKeys: queued ? 12 : 4,
    moreKeys: true,
    lua: `${ALLOW_OOM}${checkChange(layers, queued, places)}${RECALL}${openLayers(shapes, places)}
local removed, refused = 0, 0
${
  queued
    ? `${openLine(FORGET)}
local gone, hashes, clock = {}, ARGV[12], string.format('%.0f', line.clock)`
    : ''
}
local passes = {${passes}
}
${passThrough('passes', '0', 'open', 1)}
for n = 1, count do
  if not out[n] then out[n], refused = '0', refused + 1 end
end
${queued ? 'local sweep = removed > 0 and line.mark(gone) or 0' : ''}
local answers = concat(out)
${addCounts('removed', 'refused')}
${RECORD}
${reply(shapes, 'answers', queued ? 'sweep' : '0')}`,
  };
}
