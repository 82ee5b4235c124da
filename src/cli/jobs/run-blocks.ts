import { Interrupted } from '../ending.js';
import type { Block } from './blocks.js';

export interface RunOptions<R> {
  /** Asks the service. Several blocks are asked about at once. */
  readonly send: (block: Block) => Promise<R>;
  /** Takes the answers in the order of the blocks. */
  readonly take: (block: Block, answer: R) => Promise<void>;
  readonly parallel: number;
  /** Begin nothing new. */
  readonly stop: AbortSignal;
}

interface Sent<R> {
  readonly block: Block;
  readonly answer: Promise<R>;
}

/**
 * Sends blocks, a bounded number at once, and takes their answers in order. Whatever ends it early, a fault of the sources,
 * a refusal or the user, the answers of all blocks before it are taken first. Throws Interrupted if it was stopped before the
 * end of the sources.
 */
export async function runBlocks<R>(
  blocks: AsyncIterator<Block, void>,
  { send, take, parallel, stop }: RunOptions<R>,
): Promise<void> {
  const stopped = whenAborted(stop);
  const sent: Sent<R>[] = [];
  let next: Promise<IteratorResult<Block, void>> | undefined;
  let ended = false;
  let failure: { readonly error: unknown } | undefined;
  const readable = (): boolean => !ended && !stop.aborted && failure === undefined && sent.length < parallel;

  while (sent.length > 0 || readable()) {
    if (readable()) next ??= quiet(blocks.next());
    const [head] = sent;
    const read =
      next && readable()
        ? next.then(
            () => 'read',
            () => 'read',
          )
        : undefined;
    const first = await Promise.race(
      [
        read,
        head?.answer.then(
          () => 'answered',
          () => 'answered',
        ),
        stop.aborted ? undefined : stopped,
      ].filter((promise) => promise !== undefined),
    );
    if (first === 'read' && next) {
      try {
        const found = await next;
        if (found.done === true) ended = true;
        else sent.push({ block: found.value, answer: quiet(send(found.value)) });
      } catch (error) {
        failure ??= { error };
      }
      next = undefined;
    } else if (first === 'answered' && head) {
      sent.shift();
      try {
        await take(head.block, await head.answer);
      } catch (error) {
        // What comes behind it may have been executed, and is repeated when the job goes on.
        await Promise.allSettled(sent.map(({ answer }) => answer));
        throw error;
      }
    }
  }
  if (failure && !stop.aborted) throw failure.error;
  if (!ended) throw new Interrupted();
}

/** Its failure is met later, or not at all. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function whenAborted(signal: AbortSignal): Promise<'stopped'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('stopped');
    else signal.addEventListener('abort', () => resolve('stopped'), { once: true });
  });
}
