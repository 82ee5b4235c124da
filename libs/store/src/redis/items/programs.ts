import { queueChangeKeys } from '../scripts/queue-state.js';
import type { Script } from '../scripts/script.js';
import { add } from './add.js';
import { Frame, type ItemTask, type LayerShape } from './frame.js';
import { keep } from './keep.js';
import { read } from './read.js';
import { remove } from './remove.js';

/** A script, and the frame that packs the arguments of its calls. */
export interface ItemProgram {
  readonly frame: Frame;
  readonly script: Script;
}

/**
 * The scripts on a batch's items in one segment: four programs, each for own and sync layers and two kinds of cells. A
 * script gets the items once for each layer that the caller knows. meta says which layer is `open` in the segment, by
 * number from 0. Older layers are closed, and newer ones hold nothing in this segment yet. During a sync, the segment
 * also has the layers that the sync fills.
 *
 * A reply is {one character per item, items of the first layer, 1 if a step of a sweep is due, the open layer, items of
 * the other layers}. During a sync, END_OF_STACK, the open layer and the items of the sync's layers follow. Otherwise
 * the script has changed nothing, and the status reply is one of these words:
 *
 *   LOST, REUSED, EXPIRED   see scripts/script.ts
 *   GROW, GROWSYNC          the filter's own layers, or those of the sync, need one that the caller does not know
 *   UNMADE n                keys of layer n, which has no items in the segment, are missing after a failover
 *   ENDED                   there were more removals than the sync can note, so it keeps no more items
 *   QUEUE                   the visit would have to void entries, because a commit is checking some
 *   FULL n                  n items are hidden, and the removal might have to hide more than allowed
 */
export function itemProgram(task: ItemTask): ItemProgram {
  const frame = new Frame(task);
  const text = { add, remove, keep, check: read, count: read, listed: read }[task.verb](frame);
  return {
    frame,
    script: {
      name: nameOf(task),
      verb: task.verb,
      numberOfKeys: frame.changes ? (task.queued ? queueChangeKeys(task.hosts) : 4) : 2,
      moreKeys: true,
      lua: text.replace(/\n\s*(?=\n)/g, ''),
    },
  };
}

function nameOf({ verb, stacks, queued, hosts, visits, multiset, named }: ItemTask): string {
  const shapes = (layers: readonly LayerShape[]): string =>
    layers
      .map(({ hashes, wide, split, pageBytes }) =>
        [hashes, wide ? 'w' : 'n', split ? 's' : '', pageBytes ?? ''].join(''),
      )
      .join('.');
  const flags = [
    queued ? 'Queued' : '',
    hosts ? 'Hosts' : '',
    visits ? 'Visits' : '',
    multiset ? 'Multiset' : '',
    named ? 'Named' : '',
  ].join('');
  return `unseenItems:${verb}${flags}:${shapes(stacks.own)}${stacks.sync ? `-${shapes(stacks.sync)}` : ''}`;
}
