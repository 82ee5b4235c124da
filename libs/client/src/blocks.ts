import { MOST_ENTRIES, MOST_SIZE } from './joined-calls.js';

/** What a caller may give in place of one entry. */
export type Source<Entry> = Iterable<Entry> | AsyncIterable<Entry>;

/** A source that gives nothing for so long has what it gave sent, ms. */
const PAUSE_MS = 20;

/**
 * Cuts entries into blocks of at most MOST_ENTRIES and about MOST_SIZE characters. A block of a source that pauses is shorter. If
 * the source fails, what it gave before comes first.
 */
export async function* blocksOf<Entry>(
  source: Source<Entry>,
  sizeOf: (entry: Entry) => number,
): AsyncGenerator<Entry[]> {
  const block = new Block(sizeOf);
  try {
    if (Symbol.asyncIterator in source) yield* blocksOfAsync(source, block);
    else {
      for (const entry of source) {
        if (!block.hasRoomFor(entry)) yield block.take();
        block.add(entry);
      }
    }
  } catch (error) {
    if (!block.isEmpty) yield block.take();
    throw error;
  }
  if (!block.isEmpty) yield block.take();
}

async function* blocksOfAsync<Entry>(
  source: AsyncIterable<Entry>,
  block: Block<Entry>,
): AsyncGenerator<Entry[]> {
  const entries = source[Symbol.asyncIterator]();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let paused = Promise.resolve<undefined>(undefined);
  const begin = (): void => {
    paused = new Promise((resolve) => (timer = setTimeout(() => resolve(undefined), PAUSE_MS)));
  };
  let ended = false;
  try {
    let next = quiet(entries.next());
    for (;;) {
      const got = await (block.isEmpty ? next : Promise.race([next, paused]));
      if (got === undefined) {
        yield block.take();
        continue;
      }
      ended = got.done === true;
      if (ended) return;
      const entry = got.value as Entry;
      if (!block.hasRoomFor(entry)) {
        clearTimeout(timer);
        yield block.take();
      }
      if (block.isEmpty) begin();
      block.add(entry);
      next = quiet(entries.next());
    }
  } catch (error) {
    ended = true;
    throw error;
  } finally {
    clearTimeout(timer);
    if (!ended) await entries.return?.();
  }
}

class Block<Entry> {
  private entries: Entry[] = [];
  private size = 0;

  constructor(private readonly sizeOf: (entry: Entry) => number) {}

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  hasRoomFor(entry: Entry): boolean {
    return (
      this.isEmpty || (this.entries.length < MOST_ENTRIES && this.size + this.sizeOf(entry) <= MOST_SIZE)
    );
  }

  add(entry: Entry): void {
    this.entries.push(entry);
    this.size += this.sizeOf(entry);
  }

  take(): Entry[] {
    const { entries } = this;
    [this.entries, this.size] = [[], 0];
    return entries;
  }
}

/** How blocks are sent. */
export interface Sending {
  /** How many are under way at once. */
  readonly ahead: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Sends blocks and yields what each is answered, in their order. If the source or a call fails, what came before it is yielded
 * first. When the reader leaves, what is under way is aborted.
 */
export async function* answersTo<Entry, Answer>(
  blocks: AsyncGenerator<Entry[]>,
  send: (block: Entry[], place: number, signal: AbortSignal) => Promise<Answer>,
  { ahead, signal }: Sending,
): AsyncGenerator<Answer> {
  const leaving = new AbortController();
  const aborted = quiet(
    new Promise<never>((_, reject) => {
      leaving.signal.addEventListener('abort', () => reject(leaving.signal.reason as Error), { once: true });
    }),
  );
  const abort = (): void => leaving.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const underWay: Promise<Answer>[] = [];
  let next: Promise<IteratorResult<Entry[], unknown>> | undefined;
  let failed: { readonly error: unknown } | undefined;
  let ended = false;
  let place = 0;
  try {
    signal?.throwIfAborted();
    for (;;) {
      if (!ended && underWay.length < ahead) next ??= quiet(blocks.next());
      const [first] = underWay;
      if (next === undefined && first === undefined) break;
      const which = await Promise.race([
        ...(first === undefined ? [] : [settled(first, 'answer' as const)]),
        ...(next === undefined ? [] : [settled(next, 'block' as const)]),
        aborted,
      ]);
      if (which === 'answer') {
        void underWay.shift();
        yield (await first) as Answer;
      } else {
        const come = next as Promise<IteratorResult<Entry[], unknown>>;
        next = undefined;
        try {
          const { done, value } = await come;
          if (done === true) ended = true;
          else underWay.push(quiet(send(value, place++, leaving.signal)));
        } catch (error) {
          [failed, ended] = [{ error }, true];
        }
      }
    }
    if (failed) throw failed.error;
  } finally {
    signal?.removeEventListener('abort', abort);
    leaving.abort(new DOMException('the reader has left', 'AbortError'));
    const left = blocks.return(undefined).catch(nothing);
    // A source that hangs would hang its reader.
    if (next === undefined) await left;
  }
}

const nothing = (): void => undefined;

/** A promise whose failure is looked at later, in its turn. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  void promise.catch(nothing);
  return promise;
}

function settled<T>(promise: Promise<unknown>, tag: T): Promise<T> {
  const told = (): T => tag;
  return promise.then(told, told);
}
