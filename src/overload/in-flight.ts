import type { OverloadSettings } from '../settings/overload.js';
import { Shares } from './shares.js';

/** What is bounded: requests, streamed bodies, probes, and the bytes of bodies that they hold. */
export type Bounded = 'requests' | 'streams' | 'probes' | 'bytes';

/** What one request is counted as; a stream is no request here, since it mostly waits for its sender. */
export type RequestKind = Exclude<Bounded, 'bytes'>;

export type Bounds = Readonly<Record<Bounded, number>>;

/** The bounds that the settings say; those on probes have no setting, since their number is the operator's own. */
export function boundsOf(settings: OverloadSettings): Bounds {
  return {
    requests: settings.maxRequestsInFlight,
    streams: settings.maxStreams,
    probes: MAX_PROBES,
    bytes: settings.maxBytesInFlight,
  };
}

const MAX_PROBES = 16;

/** What is in flight, and how much may be. Nothing waits here: what finds no room is refused. */
export class InFlight {
  private readonly taken = { requests: 0, streams: 0, probes: 0, bytes: 0 };
  private readonly refusals = { requests: 0, streams: 0, probes: 0, bytes: 0 };

  /** Of the streams: one caller may have half of all, so that others get in. */
  readonly shares: Shares;

  constructor(readonly bounds: Bounds) {
    this.shares = new Shares(Math.ceil(bounds.streams / 2));
  }

  /** A slot for a request with so many bytes of body, or the bound that leaves no room for it. */
  admit(kind: RequestKind, bytes: number): Slot | Bounded {
    const full = this.taken[kind] >= this.bounds[kind] ? kind : this.hasRoom(bytes) ? undefined : 'bytes';
    if (full !== undefined) {
      this.refusals[full]++;
      return full;
    }
    const slot = new Slot(this, kind, bytes);
    slot.retain();
    return slot;
  }

  /** Takes a place and bytes, room or not. */
  take(kind: RequestKind, bytes: number): void {
    this.taken[kind]++;
    this.taken.bytes += bytes;
  }

  /** Whether a caller has a share of the streams left; counts a refusal if not. */
  hasShare(caller: string): boolean {
    const room = this.shares.hasRoom(caller);
    if (!room) this.refusals.streams++;
    return room;
  }

  /** Takes so many bytes more, or counts a refusal. */
  grow(bytes: number): boolean {
    const room = this.hasRoom(bytes);
    if (room) this.taken.bytes += bytes;
    else this.refusals.bytes++;
    return room;
  }

  /** Counts bytes that are held already, room or not. */
  add(bytes: number): void {
    this.taken.bytes += bytes;
  }

  /** Gives a request and its bytes back. */
  give(kind: RequestKind, bytes: number): void {
    this.taken[kind]--;
    this.taken.bytes -= bytes;
  }

  count(of: Bounded): number {
    return this.taken[of];
  }

  /** How often each bound has refused, since the start. */
  refused(by: Bounded): number {
    return this.refusals[by];
  }

  /** What holds no bytes is not refused for the bytes of others. */
  private hasRoom(bytes: number): boolean {
    return bytes === 0 || this.taken.bytes + bytes <= this.bounds.bytes;
  }
}

/**
 * One request's share of what is in flight, given back when its exchange is over and all work for it has ended:
 * the store goes on with a call whose client is gone, and clients that give up and come again must not pile up calls.
 */
export class Slot {
  private uses = 0;
  /** In whose share of the streams it is counted, if in anyone's. */
  private caller: string | undefined;

  constructor(
    private readonly inFlight: InFlight,
    private readonly kind: RequestKind,
    private bytes: number,
  ) {}

  get bounds(): Bounds {
    return this.inFlight.bounds;
  }

  /** The streams that one caller may have. */
  get streamShare(): number {
    return this.inFlight.shares.most;
  }

  /** Counts a stream in its caller's share of them; false if there is no room in it. */
  claim(caller: string): boolean {
    if (this.kind !== 'streams') return true;
    if (!this.inFlight.hasShare(caller)) return false;
    this.caller = caller;
    if (this.uses > 0) this.inFlight.shares.take(caller);
    return true;
  }

  /** Takes what it lacks for so many bytes in all; false if there is no room. */
  cover(bytes: number): boolean {
    if (bytes <= this.bytes) return true;
    if (this.uses > 0 && !this.inFlight.grow(bytes - this.bytes)) return false;
    this.bytes = bytes;
    return true;
  }

  /** Says how many bytes it holds now. They are there already, so that there is no room to be asked for. */
  hold(bytes: number): void {
    if (this.uses > 0) this.inFlight.add(bytes - this.bytes);
    this.bytes = bytes;
  }

  /** Keeps the slot until `release`; takes it again if it was given back, as when work on a stream outlives its sender. */
  retain(): void {
    if (this.uses++ > 0) return;
    this.inFlight.take(this.kind, this.bytes);
    if (this.caller !== undefined) this.inFlight.shares.take(this.caller);
  }

  release(): void {
    if (--this.uses > 0) return;
    this.inFlight.give(this.kind, this.bytes);
    if (this.caller !== undefined) this.inFlight.shares.give(this.caller);
  }

  /** Keeps the slot while `work` goes on. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.retain();
    try {
      return await work();
    } finally {
      this.release();
    }
  }
}
