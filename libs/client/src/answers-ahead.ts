import { pause } from './back-off.js';

/** How to send blocks. */
export interface Sending {
  /** Number of blocks in flight. */
  readonly ahead: number;
  /** Ends the list immediately and aborts calls in flight. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the list once blocks in flight have their answers. */
  readonly stop?: AbortSignal | undefined;
  /**
   * Called when a block has failed, once all earlier blocks have their answers and all calls in flight have ended.
   * Returns the delay in ms before all failed blocks are resent. Default: a failure aborts calls in flight.
   */
  readonly onFailure?: ((error: Error) => number | Promise<number>) | undefined;
}

/** A promise and its state. */
interface Tracked<T> {
  readonly promise: Promise<T>;
  state: 'pending' | 'done' | 'failed';
}

interface Sent<Block, Answer> extends Tracked<Answer> {
  readonly block: Block;
  readonly place: number;
}

/**
 * Sends blocks and yields their answers in order. If the source or a call fails, yields earlier answers first. If the
 * reader leaves, aborts calls in flight. Throws a signal's reason.
 */
export async function* answersTo<Block, Answer>(
  blocks: AsyncGenerator<Block>,
  send: (block: Block, place: number, signal: AbortSignal) => Promise<Answer>,
  { ahead, signal, stop, onFailure }: Sending,
): AsyncGenerator<Answer> {
  const leaving = new AbortController();
  let wake = nothing;
  const track = <T>(promise: Promise<T>): Tracked<T> => {
    const tracked: Tracked<T> = { promise, state: 'pending' };
    const settle = (state: Tracked<T>['state']) => (): void => {
      tracked.state = state;
      wake();
    };
    promise.then(settle('done'), settle('failed'));
    return tracked;
  };
  const begin = (block: Block, place: number): Sent<Block, Answer> =>
    Object.assign(track(send(block, place, leaving.signal)), { block, place });
  const end = (): void => {
    if (signal?.aborted === true) leaving.abort(signal.reason);
    wake();
  };
  signal?.addEventListener('abort', end);
  stop?.addEventListener('abort', end);
  let inFlight: Sent<Block, Answer>[] = [];
  let reading: Tracked<IteratorResult<Block, unknown>> | undefined;
  let repeating: Tracked<void> | undefined;
  let failed: { readonly error: unknown } | undefined;
  let ended = false;
  let count = 0;
  const change = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  try {
    for (;;) {
      signal?.throwIfAborted();
      const isStopped = stop?.aborted === true;
      if (!ended && !isStopped && inFlight.length < ahead) reading ??= track(blocks.next());
      const read = isStopped ? undefined : reading;
      const [first] = inFlight;
      if (first?.state === 'failed' && onFailure) {
        if (inFlight.some(({ state }) => state === 'pending')) await change();
        else if (isStopped) await first.promise;
        else if (!repeating) repeating = track(repeat(first.promise, onFailure, leaving.signal));
        else if (repeating.state === 'pending') await change();
        else {
          await repeating.promise;
          repeating = undefined;
          inFlight = inFlight.map((sent) => (sent.state === 'failed' ? begin(sent.block, sent.place) : sent));
        }
      } else if (first && first.state !== 'pending') {
        const answer = await first.promise;
        inFlight.shift();
        yield answer;
      } else if (read && read.state !== 'pending') {
        reading = undefined;
        try {
          const { done, value } = await read.promise;
          if (done === true) ended = true;
          else inFlight.push(begin(value, count++));
        } catch (error) {
          [failed, ended] = [{ error }, true];
        }
      } else if (first || read) {
        await change();
      } else {
        break;
      }
    }
    // The stop itself may have made the source fail.
    if (!ended || failed) stop?.throwIfAborted();
    if (failed) throw failed.error;
  } finally {
    signal?.removeEventListener('abort', end);
    stop?.removeEventListener('abort', end);
    leaving.abort(new DOMException('the caller stopped reading', 'AbortError'));
    const left = blocks.return(undefined).catch(nothing);
    // Don't wait for a source that hangs: that would block the reader.
    if (!reading) await left;
  }
}

/** Waits until a failed block is due to be resent. */
async function repeat(
  sent: Promise<unknown>,
  onFailure: (error: Error) => number | Promise<number>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await sent;
  } catch (error) {
    await pause(await onFailure(error as Error), signal);
  }
}

const nothing = (): void => undefined;
