import type { Batches, CallOptions, ChangeOptions } from './batches.js';
import { partOfPath } from './path.js';
import { randomKey } from './random-key.js';
import type { Counters, History, LayerCounters } from './api-types.js';
import type { Call, Requests } from './requests.js';

const NAME = 'a name must have 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", ":" and "-"';
/** An upload has practically no time limit. */
const UPLOAD_MS = 24 * 3_600_000;

/** Options for a history. */
export interface HistoryOptions extends CallOptions {
  /** How far back the history goes, 60 to 21,600. Default: 21,600. */
  readonly seconds?: number;
}

/** The parts of a client used by its handles. */
export interface Service {
  readonly requests: Requests;
  readonly batches: Batches;
}

/**
 * Methods that filters and visited sets have in common. A handle is only a name, so you can create it before the filter
 * exists. `Options`: the options for `create`. `Description`: the result of `describe`.
 */
export abstract class Handle<Options extends object, Description> {
  /** Starts with `/v1`. */
  protected readonly path: string;

  protected constructor(
    protected readonly service: Service,
    private readonly kind: 'filters' | 'visited-sets',
    readonly name: string,
  ) {
    this.path = `/v1/${kind}/${partOfPath(name, NAME)}`;
  }

  /**
   * Creates the filter or visited set. If it exists with the same options, returns it unchanged. Throws ConflictError
   * if it exists with different options, and FullError if it would be too large.
   */
  create(options: Options, call: ChangeOptions = {}): Promise<Description> {
    return this.change(call, {
      method: 'POST',
      path: `/v1/${this.kind}`,
      json: { ...options, name: this.name },
    });
  }

  /** Returns the description. Throws NotFoundError. */
  describe({ signal }: CallOptions = {}): Promise<Description> {
    return this.service.requests.json({ method: 'GET', path: this.path, repeatable: true, signal });
  }

  /**
   * Returns the figures for the last hours, minute by minute, as recorded by the instance that answers. Throws
   * NotFoundError.
   */
  history({ seconds, signal }: HistoryOptions = {}): Promise<History> {
    return this.service.requests.json({
      method: 'GET',
      path: `${this.path}/history`,
      query: { seconds },
      repeatable: true,
      signal,
    });
  }

  /** Counts each layer's counters by value, in a sample. Throws NotFoundError. */
  async counters({ signal }: CallOptions = {}): Promise<LayerCounters[]> {
    const path = `${this.path}/counters`;
    const call = { method: 'GET', path, repeatable: true, signal } as const;
    return (await this.service.requests.json<Counters>(call)).layers;
  }

  /** Removes everything from it. Throws NotFoundError. */
  clear(call: ChangeOptions = {}): Promise<Description> {
    return this.change(call, { method: 'POST', path: `${this.path}/clear` });
  }

  /** Deletes it with its contents. Throws NotFoundError. */
  async drop(call: ChangeOptions = {}): Promise<void> {
    await this.change(call, { method: 'DELETE', path: this.path });
  }

  /**
   * Returns the export as a stream. The signal works until the first byte. To stop later, cancel the stream. Throws
   * NotFoundError.
   */
  export({ signal }: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return this.service.requests.stream({
      method: 'GET',
      path: `${this.path}/export`,
      repeatable: true,
      signal,
    });
  }

  /**
   * Creates it from an export, under this handle's name. The client can retry the upload of a Blob, but not of a
   * stream. Browsers can't send streams. Throws ConflictError if the name is taken.
   */
  import(data: Blob | ReadableStream<Uint8Array>, call: ChangeOptions = {}): Promise<Description> {
    return this.change(call, {
      method: 'POST',
      path: `/v1/${this.kind}/import`,
      query: { name: this.name },
      body: data,
      contentType: 'application/octet-stream',
      waitMs: UPLOAD_MS,
    });
  }

  /** A call that changes something. Its key makes retries safe. */
  protected change<T>(
    { idempotencyKey = randomKey(), signal }: ChangeOptions,
    call: Omit<Call, 'key' | 'signal' | 'repeatable'>,
  ): Promise<T> {
    return this.service.requests.json<T>({ ...call, repeatable: true, key: idempotencyKey, signal });
  }
}
