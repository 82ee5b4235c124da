import { AGED, restOf } from './aged-cells.js';
import type { CellKind } from './cell-kind.js';
import { type Frame, NAMES, type Place, type StackName } from './frame.js';
import { headBytes, PACKED } from './packed-cells.js';

export const kindOf = ({ task }: Frame): CellKind => (task.ages ? AGED : PACKED);

/** Work on a batch's items in the filter's own or the sync's layers. */
interface Visit {
  /** Name of the Lua table of items to skip. An item is added once a layer has decided its answer. */
  readonly skip: string;
  /** Name of the Lua variable with the number of items left. */
  readonly left: string;
  /** Lua before all passes. */
  readonly init?: string;
  /**
   * A grown filter has most of its items in the newest layer, but an item's count is in the oldest layer that claims
   * it.
   */
  readonly order?: 'oldest first' | 'newest first';
  /** Where to stop: at the open layer, or at the last layer that the caller knows. */
  readonly upTo?: 'open' | 'last';
  /** Lua before the items of a layer, for each item, and after them. */
  readonly before?: (place: Place) => string;
  readonly item: (place: Place) => string;
  readonly after?: (place: Place) => string;
}

/** Lua that stores item n's answer. Other layers then skip the item. */
export const answered = (frame: Frame, { skip, left }: Pick<Visit, 'skip' | 'left'>, value: string): string =>
  frame.isStraight ? `${skip}[n] = ${value}` : `${skip}[n], ${left} = ${value}, ${left} - 1`;

/**
 * Goes layer by layer through the batch's items that are not in `skip`. A layer's answer for an item doesn't depend on
 * other layers, so the answers are the same as item by item.
 */
export function visit(frame: Frame, stack: StackName, what: Visit): string {
  const places = frame.placesIn(stack);
  // Each layer gets its own function, because its unrolled loop may need nearly as many local variables as Lua allows.
  const { init = '' } = what;
  if (frame.isStraight) return `do${init}${places.map((place) => pass(frame, place, what)).join('')}\nend`;
  const { left, order = 'oldest first', upTo = 'open' } = what;
  const first = places[0]?.place ?? 0;
  const last = upTo === 'last' ? String(first + places.length - 1) : `${first} + ${NAMES[stack].open}`;
  const range = order === 'oldest first' ? `${first}, ${last}` : `${last}, ${first}, -1`;
  return `do${init}
local passes = {${places.map((place) => `\n[${place.place}] = function()${pass(frame, place, what)}\nend,`).join('')}
}
for place = ${range} do
  if ${left} > 0 then passes[place]() end
end
end`;
}

function pass(frame: Frame, place: Place, { skip, before, item, after }: Visit): string {
  const { shape } = place;
  const key = frame.hasKeys(place) ? `KEYS[firstKey[${place.place}]]` : 'KEYS[1]';
  const one = `${
    shape.split
      ? `
      local high, low = byte(pieces, 2 * n - 1, 2 * n)
      local cells = KEYS[first + high * 256 + low]`
      : ''
  }${item(place)}`;
  const skipped = `
    if ${skip}[n] then
      local a, b = byte(packed, at, at + 1)
      at = at + ${headBytes(shape)} + a + b
    else${one}
    end`;
  return `
  local packed, at = ${frame.layerArg(place, 'packed')}, 1
  ${shape.split ? `local pieces, first = ${frame.layerArg(place, 'places')}, firstKey[${place.place}]` : `local cells = ${key}`}
  ${before?.(place) ?? ''}
  for n = 1, count do${frame.isStraight ? one : skipped}
  end${after?.(place) ?? ''}`;
}

/**
 * Puts into `found` the items that these layers claim and don't hide. If the filter ages, also their remaining epochs.
 */
export function claims(
  frame: Frame,
  stack: StackName,
  found: string,
  order: Visit['order'] = 'newest first',
): string {
  const { ages } = frame.task;
  const kind = kindOf(frame);
  const ask = { skip: ages ? 'seen' : found, left: 'left' };
  return visit(frame, stack, {
    ...{ ...ask, order, init: `\nlocal left${ages ? ', seen = count, {}' : ' = count'}` },
    item: ({ shape }) => `${kind.claim(shape)}
      if live then
        ${answered(frame, ask, 'true')}
        ${ages ? `if not ${NAMES[stack].gone}[n] then ${found}[n] = ${restOf(shape)} end` : ''}
      end`,
  });
}

/** How to add items to the filter's own layers or to the sync's. */
interface Adding {
  readonly skip: string;
  readonly left: string;
  /** The number of epochs that item n will live, as Lua. */
  readonly lasts: string;
  /** Name of the table with items to add only to layers that already claim them. */
  readonly only?: string;
  /**
   * Lua to run for an item once these layers contain it. `isNew`: Lua that says whether the item was new to these
   * layers.
   */
  readonly then: (isNew: string) => string;
}

/**
 * Adds items. A layer with its full share is closed when the next new item arrives. The last layer takes all remaining
 * items.
 */
export function addTo(frame: Frame, stack: StackName, { skip, left, lasts, only, then }: Adding): string {
  const kind = kindOf(frame);
  const { open } = NAMES[stack];
  const allowed = only ? ` and not ${only}[n]` : '';
  return visit(frame, stack, {
    ...{ skip, left, upTo: 'last' },
    before: (place) => `${kind.locals(place)}
  local share = shares[${place.place}]`,
    item: (place) => {
      const { layer, isLast } = place;
      const close = `
      if not live${allowed} and ${open} == ${layer} and size >= share then ${open} = ${layer + 1} end`;
      const write = `
      if ${kind.isStale(frame, place)} then
        ${kind.raise(place)}
      end
      if not live then size = size + 1 end
      ${then(kind.isNew(place))}`;
      return `${kind.visit(place, lasts)}${isLast ? '' : close}${
        frame.isStraight && !only
          ? write
          : `
      if live or ${open} == ${layer}${allowed} then${write}
      end`
      }`;
    },
    after: (place) => kind.account(frame, place),
  });
}
