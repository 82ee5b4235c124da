import type { Batches, CallOptions, ChangeOptions } from './batches.js';
import { randomKey } from './random-key.js';
import type { Counters, History, LayerCounters } from './api-types.js';
import type { Call, Requests } from './requests.js';

/** An upload may take as long as it takes. */
const UPLOAD_MS = 24 * 3_600_000;

/** How far back a history goes. */
export interface HistoryOptions extends CallOptions {
  /** 60 to 21,600, which is the default. */
  readonly seconds?: number;
}

/** How the handles of a client reach the service. */
export interface Service {
  readonly requests: Requests;
  readonly batches: Batches;
}

/**
 * What filters and visited sets have in common. A handle is a name: it costs nothing, asks nothing, and may be made before what
 * it names. `Options`: what it is made with; `Description`: what the service tells of it.
 */
export abstract class Handle<Options extends object, Description> {
  /** From `/v1` on. */
  protected readonly path: string;

  protected constructor(
    protected readonly service: Service,
    private readonly kind: 'filters' | 'visited-sets',
    readonly name: string,
  ) {
    this.path = `/v1/${kind}/${nameInPath(name)}`;
  }

  /**
   * Makes it. One that is there already is answered as it is, if it was made with the same options. Throws ConflictError if it
   * was made with others, FullError if it would be too large.
   */
  create(options: Options, call: ChangeOptions = {}): Promise<Description> {
    return this.change(call, {
      method: 'POST',
      path: `/v1/${this.kind}`,
      json: { ...options, name: this.name },
    });
  }

  /** What there is to know of it. Throws NotFoundError. */
  describe({ signal }: CallOptions = {}): Promise<Description> {
    return this.service.requests.json({ method: 'GET', path: this.path, repeatable: true, signal });
  }

  /** How it was in the last hours, minute by minute, as far as the instance that answers has seen it. Throws NotFoundError. */
  history({ seconds, signal }: HistoryOptions = {}): Promise<History> {
    return this.service.requests.json({
      method: 'GET',
      path: `${this.path}/history`,
      query: { seconds },
      repeatable: true,
      signal,
    });
  }

  /** How many of its counters have which value, in a sample of each layer. Throws NotFoundError. */
  async counters({ signal }: CallOptions = {}): Promise<LayerCounters[]> {
    const path = `${this.path}/counters`;
    const call = { method: 'GET', path, repeatable: true, signal } as const;
    return (await this.service.requests.json<Counters>(call)).layers;
  }

  /** Takes everything out. Throws NotFoundError. */
  clear(call: ChangeOptions = {}): Promise<Description> {
    return this.change(call, { method: 'POST', path: `${this.path}/clear` });
  }

  /** Takes it away, with everything in it. Throws NotFoundError. */
  async drop(call: ChangeOptions = {}): Promise<void> {
    await this.change(call, { method: 'DELETE', path: this.path });
  }

  /** All of it as a file. The signal holds until the first byte; cancel the stream to stop later. Throws NotFoundError. */
  export({ signal }: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return this.service.requests.stream({
      method: 'GET',
      path: `${this.path}/export`,
      repeatable: true,
      signal,
    });
  }

  /**
   * Makes it from an export, under its own name, whatever the export's was. A Blob is sent again where that helps, a stream
   * cannot be; browsers send no streams. Throws ConflictError if there is one of this name.
   */
  import(data: Blob | ReadableStream<Uint8Array>, call: ChangeOptions = {}): Promise<Description> {
    return this.change(call, {
      method: 'POST',
      path: `/v1/${this.kind}/import`,
      query: { name: this.name },
      body: data,
      contentType: 'application/octet-stream',
      repeatable: data instanceof Blob,
      waitMs: UPLOAD_MS,
    });
  }

  /** One call that changes something. With its key it can be repeated. */
  protected change<T>(
    { idempotencyKey = randomKey(), signal }: ChangeOptions,
    call: Omit<Call, 'key' | 'signal' | 'repeatable'> & { readonly repeatable?: boolean },
  ): Promise<T> {
    return this.service.requests.json<T>({ repeatable: true, ...call, key: idempotencyKey, signal });
  }
}

/** A name as a part of a path. Throws RangeError for one that would lead elsewhere, and that nothing can have. */
function nameInPath(name: string): string {
  if (name === '' || name === '.' || name === '..')
    throw new RangeError(`a name must be 1 to 64 of a-z, 0-9, ".", "_" and "-", not ${JSON.stringify(name)}`);
  return encodeURIComponent(name);
}
