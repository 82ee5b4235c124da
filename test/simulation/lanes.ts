import type { FilterSpec, HostSettings, PerHost } from '#store';

/** A host in a queue, or all hosts in a queue without `perHost`. */
export interface Lane {
  readonly host: string;
  own: PerHost;
  blockedUntil: number;
  /** Nothing is leased before this time, apart from a block. */
  readyAt: number;
  /** Orders the lanes that may be leased from, the earliest first. If undefined, nothing may be leased. */
  turnAt: number | undefined;
  /** The number of waiting entries when its turn was last decided. */
  waitingBefore: number;
  /** Since then: when the first entry came due, and when the host had room for a lease again. */
  cameAt: number | undefined;
  freedAt: number | undefined;
  /** Forgotten entries may still be stored and count. The model doesn't know when the store removes them. */
  isVague: boolean;
  /** Until then, a forgotten entry may count as leased, or delay the host. */
  vagueUntil: number;
  /** Until then, releasing a forgotten entry may delay the host. */
  mayWaitUntil: number;
}

/** How many entries a host has in these states. */
export interface LaneCounts {
  readonly waiting: number;
  readonly leased: number;
}

/** Each host's pace and settings. */
export class Lanes {
  private readonly lanes = new Map<string, Lane>();

  constructor(
    private readonly perHost: FilterSpec['perHost'],
    private readonly clock: { now: number },
    private readonly countsOf: (host: string) => LaneCounts,
  ) {}

  of(host: string): Lane {
    let lane = this.lanes.get(host);
    if (!lane) {
      lane = {
        ...{ host, own: {}, blockedUntil: 0, readyAt: 0, turnAt: undefined, waitingBefore: 0 },
        ...{ cameAt: undefined, freedAt: undefined },
        ...{ isVague: false, vagueUntil: 0, mayWaitUntil: 0 },
      };
      this.lanes.set(host, lane);
    }
    return lane;
  }

  get all(): Lane[] {
    return [...this.lanes.values()];
  }

  limits({ own }: Lane): PerHost {
    return { ...this.perHost, ...own };
  }

  delay(lane: Lane, until: number): void {
    lane.readyAt = Math.max(lane.readyAt, until);
  }

  /** An entry's lease ended at this time. The entry still counts as leased. */
  freed(lane: Lane, at: number): void {
    const { maxLeased = Infinity } = this.limits(lane);
    if (this.countsOf(lane.host).leased >= maxLeased) lane.freedAt = at;
    if (maxLeased === 1) this.pause(lane, at);
  }

  /** An entry came due at this time. */
  came(lane: Lane, at: number): void {
    if (lane.waitingBefore === 0) lane.cameAt ??= at;
  }

  /** Entries were leased. */
  served(lane: Lane): void {
    this.pause(lane, this.clock.now);
    lane.turnAt = undefined;
  }

  private pause(lane: Lane, from: number): void {
    if (this.perHost) this.delay(lane, from + (this.limits(lane).delayMs ?? 0));
  }

  set(lane: Lane, { own = {}, blockedUntil = 0 }: HostSettings): void {
    Object.assign(lane, { own, blockedUntil });
    lane.readyAt = Math.min(lane.readyAt, this.clock.now + (this.limits(lane).delayMs ?? 0));
    if ((lane.turnAt ?? 0) > this.clock.now) lane.turnAt = undefined;
  }

  /** Decides when it is each lane's turn. Call it after each change. */
  place(): void {
    for (const lane of this.lanes.values()) {
      const { waiting, leased } = this.countsOf(lane.host);
      const readyAt = this.readyOf(lane);
      if (waiting === 0 || leased >= (this.limits(lane).maxLeased ?? Infinity)) lane.turnAt = undefined;
      else
        lane.turnAt = Math.max(readyAt, this.servableAt(lane), Math.min(lane.blockedUntil, this.clock.now));
      Object.assign(lane, { waitingBefore: waiting, cameAt: undefined, freedAt: undefined });
    }
  }

  /** Since when the lane could have been served, apart from its host's delay. */
  private servableAt({ waitingBefore, turnAt, cameAt, freedAt }: Lane): number {
    const { now } = this.clock;
    return waitingBefore === 0 ? Math.max(cameAt ?? now, freedAt ?? 0) : (turnAt ?? freedAt ?? now);
  }

  /** Takes over an export's lanes, after their entries. */
  restore({ all }: Lanes): void {
    if (!this.perHost) return;
    for (const { turnAt, ...exported } of all) {
      const lane = this.of(exported.host);
      const readyAt = turnAt ?? exported.readyAt;
      Object.assign(lane, { ...exported, readyAt, waitingBefore: lane.waitingBefore });
      if (lane.waitingBefore > 0) lane.turnAt = Math.max(readyAt, 1);
    }
  }

  readyOf({ readyAt, blockedUntil }: Lane): number {
    return blockedUntil > this.clock.now ? Math.max(readyAt, blockedUntil) : readyAt;
  }

  /** How many entries a lease may take from a lane. */
  room(lane: Lane, leased: number, maxPerHost: number | undefined): number {
    if (this.readyOf(lane) > this.clock.now) return 0;
    const { maxLeased = Infinity, delayMs = 0 } = this.limits(lane);
    return Math.max(0, Math.min(maxPerHost ?? (delayMs > 0 ? 1 : Infinity), maxLeased - leased));
  }

  /** Whether `room` may be too high, because the store may not have removed a forgotten entry yet. */
  isUnsure(lane: Lane): boolean {
    if (lane.mayWaitUntil > this.clock.now) return true;
    return lane.vagueUntil > this.clock.now && this.limits(lane).maxLeased !== undefined;
  }
}
