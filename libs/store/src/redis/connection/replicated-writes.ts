import calculateSlot from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import { msUntil } from '../../clock.js';

/** A command that changes data, on keys of one slot. */
export interface Write {
  /** The first of its keys. */
  readonly key: string;
  readonly command: string;
  readonly args: readonly (string | number | Buffer)[];
  /** True if strings are returned as Buffers. */
  readonly binary: boolean;
  /** When the caller stops waiting, in ms since the epoch. */
  readonly end: number;
}

/** Fewer replicas than required have a change. The server that replied has it. */
export class TooFewReplicasError extends Error {
  constructor(wanted: number, acknowledged: number) {
    super(`${acknowledged} replicas acknowledged a change in time; REDIS_WAIT_REPLICAS requires ${wanted}`);
  }
}

interface Waiting {
  readonly write: Write;
  readonly asking: boolean;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** One command's result in a pipeline. */
type Outcome = readonly [Error | null, unknown];

/**
 * Sends writes, and resolves each once the required number of replicas has it. WAIT follows the writes in the same
 * pipeline. On another connection, it could reach a replica that was promoted in between and lacks the write.
 *
 * WAIT blocks its connection, so this connection is for writes only. Writes that arrive during a WAIT share the next
 * one.
 */
export class ReplicatedWrites {
  private readonly waiting = new Map<Redis, Waiting[]>();

  constructor(
    private readonly client: Redis | Cluster,
    private readonly replicas: number,
  ) {}

  /** Rejects with the server's error (including redirections), TooFewReplicasError, or the connection's error. */
  send(write: Write): Promise<unknown> {
    return this.sendTo(this.ownerOf(write.key), write, false);
  }

  /** Like `send`, but to the node that a redirection names, if the client knows that node. */
  sendAsRedirected(write: Write, redirection: string): Promise<unknown> {
    const [word, , address] = redirection.split(' ');
    if (word !== 'ASK') return this.send(write);
    return this.sendTo(this.nodeAt(address), write, true);
  }

  private sendTo(node: Redis | undefined, write: Write, asking: boolean): Promise<unknown> {
    if (!node) return Promise.reject(new Error('no connection to the node that has the key'));
    return new Promise((resolve, reject) => {
      const waiting = this.waiting.get(node);
      const own = { write, asking, resolve, reject };
      if (waiting) {
        waiting.push(own);
        return;
      }
      this.waiting.set(node, [own]);
      void this.drain(node);
    });
  }

  private async drain(node: Redis): Promise<void> {
    // Waits one turn, so that simultaneous writes share a pipeline.
    await Promise.resolve();
    for (let batch = this.take(node); batch.length > 0; batch = this.take(node)) {
      const live = batch.filter(({ write }) => msUntil(write.end) > 0);
      for (const late of batch) if (!live.includes(late)) late.reject(new Error('out of time'));
      if (live.length > 0) await this.exchange(node, live);
    }
    this.waiting.delete(node);
  }

  /** Takes the writes that have arrived for a node. Later writes form a new batch. */
  private take(node: Redis): Waiting[] {
    const batch = this.waiting.get(node) ?? [];
    this.waiting.set(node, []);
    return batch;
  }

  private async exchange(node: Redis, batch: readonly Waiting[]): Promise<void> {
    try {
      const pipeline = node.pipeline();
      for (const { write, asking } of batch) {
        if (asking) pipeline.call('asking');
        const args = [write.command, ...write.args] as [string, ...(string | number | Buffer)[]];
        if (write.binary) pipeline.callBuffer(...args);
        else pipeline.call(...args);
      }
      const longest = msUntil(Math.max(...batch.map(({ write }) => write.end)));
      pipeline.call('wait', this.replicas, Math.max(1, longest));
      this.settle(batch, (await pipeline.exec()) ?? []);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  private settle(batch: readonly Waiting[], outcomes: readonly Outcome[]): void {
    const [waitError, acknowledged] = outcomes.at(-1) ?? [new Error('no answer'), 0];
    const shortage =
      waitError ??
      (Number(acknowledged) < this.replicas
        ? new TooFewReplicasError(this.replicas, Number(acknowledged))
        : undefined);
    let at = 0;
    for (const { asking, resolve, reject } of batch) {
      if (asking) at++;
      const [error, reply] = outcomes[at++] ?? [new Error('no answer'), undefined];
      const failure = error ?? shortage;
      if (failure) reject(failure);
      else resolve(reply);
    }
  }

  /** The node that serves the key's slot, as far as the client knows. */
  private ownerOf(key: string): Redis | undefined {
    if (!(this.client instanceof Cluster)) return this.client;
    return this.nodeAt(this.client.slots[calculateSlot(key)]?.[0]);
  }

  private nodeAt(address: string | undefined): Redis | undefined {
    if (!(this.client instanceof Cluster)) return this.client;
    return this.client.nodes().find(({ options }) => `${options.host}:${options.port}` === address);
  }
}
