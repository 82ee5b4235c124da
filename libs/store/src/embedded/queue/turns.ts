import type { Database } from '../database/database.js';
import { GENERATION_BYTES, prefixRange, readNumber, writeNumber } from '../database/keys.js';
import { LANE_BYTES } from './host-lane.js';

/** A lane's place in the index of turns. */
export interface Turn {
  /** When the lane is due, in the queue's time. */
  readonly at: number;
  /** Orders lanes with the same time. */
  readonly number: number;
  /** The generation and the lane's id. */
  readonly lane: Buffer;
}

const NUMBER_AT = GENERATION_BYTES + 8;
/** Where a lane's id begins in the key of its turn. */
export const TURN_LANE_AT = NUMBER_AT + 8;
const KEY_BYTES = TURN_LANE_AT + LANE_BYTES;
const NOTHING = Buffer.alloc(0);

/** A queue's lanes that are due now or later, in the order of their turns. Use it inside a transaction. */
export class Turns {
  private readonly key = Buffer.alloc(KEY_BYTES);

  constructor(
    private readonly database: Database,
    private readonly generation: Buffer,
  ) {
    this.key.set(generation);
  }

  add(turn: Turn): void {
    this.database.turns.putSync(this.keyOf(turn), NOTHING);
  }

  remove(turn: Turn): void {
    this.database.turns.removeSync(this.keyOf(turn));
  }

  /** At most `limit` turns, from time `at` or after `after`. */
  from(at: number, limit: number, after?: Turn): Turn[] {
    const { end } = prefixRange(this.generation);
    const first = after ? { at: after.at, number: after.number + 1 } : { at, number: 0 };
    const start = Buffer.from(this.keyOf({ ...first, lane: NOTHING }));
    const range = { start, ...(end && { end }), limit };
    return Array.from(this.database.turns.getKeys(range), (key) => ({
      at: readNumber(key, GENERATION_BYTES),
      number: readNumber(key, NUMBER_AT),
      lane: Buffer.concat([this.generation, key.subarray(TURN_LANE_AT)]),
    }));
  }

  /** Number of turns from time `from` until before `to`, at most `most`. */
  count(from: number, to: number, most: number): number {
    const start = Buffer.from(this.keyOf({ at: from, number: 0, lane: NOTHING }));
    const { end } =
      to === Infinity
        ? prefixRange(this.generation)
        : { end: Buffer.from(this.keyOf({ at: to, number: 0, lane: NOTHING })) };
    let count = 0;
    for (const _ of this.database.turns.getKeys({ start, ...(end && { end }), limit: most })) count++;
    return count;
  }

  private keyOf({ at, number, lane }: Turn): Buffer {
    const { key } = this;
    writeNumber(key, at, GENERATION_BYTES);
    writeNumber(key, number, NUMBER_AT);
    if (lane.length === 0) key.fill(0, TURN_LANE_AT);
    else lane.copy(key, TURN_LANE_AT, GENERATION_BYTES);
    return key;
  }
}
