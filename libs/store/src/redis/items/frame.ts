import { QUEUE_FIELD, queueKeyCount } from '../scripts/queue-state.js';
import { type CountName, countOf, RECORD_FIELDS, SYNC } from '../scripts/script.js';

type Value = string | number | Buffer;

/** The call that a script runs on a batch's items. `add`, `remove` and `keep` change them. */
export type Verb = 'add' | 'remove' | 'keep' | 'check' | 'count' | 'listed';

/** The properties of a layer that its script depends on. */
export interface LayerShape {
  readonly hashes: number;
  /** Offsets take two bytes, because pages are longer than 256 bytes. */
  readonly wide: boolean;
  /** The layer has several pieces in a segment. */
  readonly split: boolean;
  /** Bytes per page, if the filter ages. Its scripts clean whole pages. */
  readonly pageBytes?: number;
}

/**
 * The layer stacks of a segment: the filter's own layers, and the layers that a sync fills. In each stack, the oldest
 * comes first.
 */
export interface Stacks {
  readonly own: readonly LayerShape[];
  readonly sync?: readonly LayerShape[] | undefined;
}

/** The parameters that determine the text of an item script. */
export interface ItemTask {
  readonly verb: Verb;
  readonly stacks: Stacks;
  /** True if cells are bytes with an epoch (aged-cells.ts). */
  readonly ages: boolean;
  /** True if the segment has a queue that the verb changes. */
  readonly queued: boolean;
  /** True if that queue has a lane for each host. */
  readonly hosts: boolean;
  /**
   * True for an add that queues nothing. With `queued`, the add voids its items' entries (../scripts/unclaimed.ts), and
   * counts the URLs of each host that it adds to the sync's layers. Without `queued`, it fails if it would have to void
   * entries.
   */
  readonly visits?: boolean;
  /** True if each add raises counters, even if the item is present. */
  readonly multiset: boolean;
  /** True for a remove that names an entry for each item, and skips items whose entry has moved. */
  readonly named?: boolean;
}

/** A layer and its index in the script. The sync's layers follow the filter's own. */
export interface Place {
  readonly shape: LayerShape;
  readonly place: number;
  readonly stack: StackName;
  /** The layer's number in its stack. */
  readonly layer: number;
  /** True for the newest layer of its stack that the caller knows. */
  readonly isLast: boolean;
}

/** The filter's own layers, or its sync's. */
export type StackName = 'own' | 'sync';

/** With more hashes, the unrolled loop needs its own function, because a Lua function has 250 registers. */
const MOST_STRAIGHT = 16;

/** Numbers of KEYS and ARGV before the named arguments: see checkSegment and FIND_RECORD in scripts/script.ts. */
const READS_HAVE = { keys: 2, args: 2 };
const CHANGES_HAVE = { keys: 4, args: 8 };

/** Lua variable names and the prefix of meta fields, for the filter's own and the sync's layers. */
export const NAMES = {
  own: { prefix: '', open: 'open', gone: 'gone', shown: 'shown', grow: 'GROW' },
  sync: { prefix: SYNC, open: 'syncOpen', gone: 'syncGone', shown: 'syncShown', grow: 'GROWSYNC' },
} as const;

/**
 * ARGV of item scripts, after the ARGV of every script on a segment:
 *
 *   count      items of the batch
 *   values     values of a cell: 16 or 2
 *   epochMs    length of an epoch
 *   copies     number of duplicates that the batch leaves out
 *   grows      '1' if there may be more layers than the script knows; `syncGrows`: for the sync's layers
 *   payloads   packed payloads of the items (../layout/packing.ts)
 *   attempts   leases after which an entry becomes a dead letter; 0: never
 *   priority   of new entries, as stored; `delayMs`: if not 0, they are scheduled for this time from now
 *   names      ids of the lanes of the items' hosts, each with the name of the host (../layout/packing.ts)
 *   hosts      second words of the hashes of the items' hosts, 4 bytes each
 *   hashes     hashes of the items, 16 bytes each
 *   entries    names of the items' entries (../layout/entry-names.ts)
 *   maxMarks   marks that the queue may have without a sweep
 *   maxNoted   maximum number of removals that the sync notes
 *   maxHidden  maximum number of hidden items in the segment
 *   lives      how long an item lives from now, in ms
 *   counted    '1' if the items count as listed; otherwise they come from the queue
 *   again      when an item expires that only the sync's layers claim, in ms since the epoch
 */
export type ArgName =
  | 'count'
  | 'values'
  | 'epochMs'
  | 'copies'
  | 'grows'
  | 'syncGrows'
  | 'payloads'
  | 'attempts'
  | 'priority'
  | 'delayMs'
  | 'names'
  | 'hosts'
  | 'hashes'
  | 'entries'
  | 'maxMarks'
  | 'maxNoted'
  | 'maxHidden'
  | 'lives'
  | 'counted'
  | 'again';

/**
 * ARGV for each layer, after those above: the `bytes` of a piece, the number of the layer's `keys`, its `share` of
 * items in the segment, and the `packed` items. If the layer is split, `places` has the index of each item's key (2
 * bytes per item). If the filter ages, `cells` is the number of cells that the layer has in the segment. The first
 * layer's key is KEYS[1], so it has neither `bytes` nor `keys` unless it is split.
 */
export type LayerArg = 'bytes' | 'keys' | 'share' | 'packed' | 'places' | 'cells';

export type ArgValues = { readonly [name in ArgName]?: Value };
export type LayerValues = { readonly [name in LayerArg]: Value };

/**
 * Where an item script has its KEYS, ARGV and fields of meta. TypeScript packs arguments by the names by which Lua
 * reads them, so the two cannot disagree.
 */
export class Frame {
  readonly changes: boolean;
  /**
   * True for one layer in one piece without a sync, if no item is skipped. The loop over the items is then part of the
   * script's main function.
   */
  readonly isStraight: boolean;
  readonly places: readonly Place[];
  /** Indexes in KEYS: of the hidden items of the own layers, the noted removals, and the first piece. */
  readonly keys: { readonly hidden: number; readonly removed: number; readonly pieces: number };
  /** The fields of meta that the script reads, as Lua. */
  readonly fields: readonly string[];
  private readonly args: readonly ArgName[];
  private readonly layerArgs: readonly (readonly LayerArg[])[];
  private readonly argsAt: number;

  constructor(readonly task: ItemTask) {
    const { verb, stacks, ages, queued, hosts, named = false } = task;
    const { own, sync } = stacks;
    this.changes = verb === 'add' || verb === 'remove' || verb === 'keep';
    const [first, ...later] = own;
    const single = later.length === 0 && !sync && !first?.split && (first?.hashes ?? 0) <= MOST_STRAIGHT;
    // The straight loop cannot skip limited items, or those whose entries moved.
    this.isStraight = single && !(verb === 'add' && hosts) && !named;
    this.places = [...placesOf('own', own, 0), ...placesOf('sync', sync ?? [], own.length)];
    const before = this.changes ? CHANGES_HAVE : READS_HAVE;
    // With a sync, the queue has one more key: entries owed to its copy.
    const hidden = 1 + before.keys + (queued ? queueKeyCount(hosts) + (sync ? 1 : 0) : 0);
    const removed = hidden + (ages ? (sync ? 2 : 1) : 0);
    this.keys = { hidden, removed, pieces: removed + (this.changes && sync ? 1 : 0) };
    this.args = ['count', ages ? 'epochMs' : 'values', ...ARGS_OF[verb](task)];
    this.argsAt = 1 + before.args;
    this.layerArgs = this.places.map((place) => this.argsOf(place));
    this.fields = [
      ...(this.changes ? RECORD_FIELDS : []),
      ...(queued || task.visits ? [`'${QUEUE_FIELD}'`] : []),
      ...["'open'", ...(sync ? [`'${SYNC}open'`] : []), ...(ages ? ["'epoch'"] : [])],
      ...this.places.flatMap((place) => [
        ...(ages ? [`'${this.metaName(place, 'ring')}'`] : []),
        ...(ages || place.place > 0 ? [`'${this.metaName(place, 'items')}'`] : []),
      ]),
    ];
  }

  /** The stacks that the segment has. */
  get stacks(): readonly StackName[] {
    return this.has('sync') ? ['own', 'sync'] : ['own'];
  }

  /** The first of the filter's own layers. */
  get first(): Place {
    return this.places[0] as Place;
  }

  has(stack: StackName): boolean {
    return stack === 'own' || this.task.stacks.sync !== undefined;
  }

  placesIn(stack: StackName): readonly Place[] {
    return this.places.filter((place) => place.stack === stack);
  }

  needs(name: ArgName): boolean {
    return this.args.includes(name);
  }

  /** An argument, as Lua. */
  arg(name: ArgName): string {
    if (!this.needs(name)) throw new RangeError(`${this.task.verb} has no argument ${name}`);
    return `ARGV[${this.argsAt + this.args.indexOf(name)}]`;
  }

  /** An argument of a layer, as Lua. */
  layerArg({ place }: Place, name: LayerArg): string {
    const within = (this.layerArgs[place] ?? []).indexOf(name);
    const at = this.layerArgs.slice(0, place).flat().length;
    if (within < 0) throw new RangeError(`layer ${place} has no argument ${name}`);
    return `ARGV[${this.argsAt + this.args.length + at + within}]`;
  }

  /** True if a layer has keys after the keys that all scripts have. */
  hasKeys({ place, shape }: Place): boolean {
    return place > 0 || shape.split;
  }

  /** The value of a field of meta, as Lua. */
  field(name: string): string {
    const at = this.fields.indexOf(`'${name}'`);
    if (at < 0) throw new RangeError(`${this.task.verb} reads no field ${name}`);
    return `kept[${3 + at}]`;
  }

  metaName({ stack, layer }: Pick<Place, 'stack' | 'layer'>, count: CountName): string {
    return NAMES[stack].prefix + countOf(count, layer);
  }

  /** ARGV of a call, after the ARGV of every script on a segment. */
  pack(values: ArgValues, layers: readonly LayerValues[]): Value[] {
    return [
      ...this.args.map((name) => values[name] ?? ''),
      ...this.layerArgs.flatMap((names, n) => names.map((name) => (layers[n] as LayerValues)[name])),
    ];
  }

  private argsOf(place: Place): LayerArg[] {
    const { verb, ages } = this.task;
    return [
      ...(this.hasKeys(place) ? (['bytes', 'keys'] as const) : []),
      ...(verb === 'add' || verb === 'keep' ? (['share'] as const) : []),
      'packed',
      ...(place.shape.split ? (['places'] as const) : []),
      ...(ages ? (['cells'] as const) : []),
    ];
  }
}

const ARGS_OF: Readonly<Record<Verb, (task: ItemTask) => ArgName[]>> = {
  add: ({ queued, hosts, visits = false, ages, stacks: { sync } }) => [
    ...(['copies', 'grows'] as const),
    ...(queued && !visits ? (['payloads', 'attempts', 'priority', 'delayMs'] as const) : []),
    ...(hosts ? (['names'] as const) : []),
    ...(hosts && sync ? (['hosts'] as const) : []),
    ...(sync ? (['syncGrows'] as const) : []),
    ...(ages ? (['lives'] as const) : []),
    ...(sync || ages || (queued && visits) ? (['hashes'] as const) : []),
  ],
  remove: ({ queued, hosts, named = false, ages, stacks: { sync } }) => [
    ...(queued || ages || sync ? (['hashes'] as const) : []),
    ...(queued ? (['maxMarks'] as const) : []),
    ...(named ? (['entries'] as const) : []),
    ...(hosts ? (['hosts'] as const) : []),
    ...(sync ? (['maxNoted'] as const) : []),
    ...(ages ? (['maxHidden'] as const) : []),
  ],
  keep: ({ hosts, ages }) => [
    ...(['hashes', 'syncGrows', 'counted'] as const),
    ...(hosts ? (['hosts', 'names'] as const) : []),
    ...(ages ? (['lives', 'again'] as const) : []),
  ],
  check: readArgs,
  count: readArgs,
  listed: readArgs,
};

function readArgs({ ages }: ItemTask): ArgName[] {
  return ages ? ['hashes'] : [];
}

function placesOf(stack: StackName, shapes: readonly LayerShape[], from: number): Place[] {
  return shapes.map((shape, layer) => ({
    ...{ shape, place: from + layer, stack, layer },
    isLast: layer === shapes.length - 1,
  }));
}
