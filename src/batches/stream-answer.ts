import type { ProblemError } from '../errors/problem.js';
import { toProblem } from '../http/to-problem.js';
import { discard } from '../http/discard.js';
import type { RequestIds } from '../request/context.js';
import type { BatchResult, Counts } from './batch.js';
import { BlocksAhead, type RunBlock } from './blocks-ahead.js';
import { atLine, lineBlocks, type ItemLimits, type LineFault } from './line-blocks.js';
import type { LineInput } from './line-input.js';

/** One step of a stream, with at most one line of the answer. */
export interface StreamEvent {
  /** The line without its line feed. Absent if the step has none. */
  readonly text?: string;
  /** Why the stream ended before any block was done. It is then the whole answer. */
  readonly refusal?: ProblemError;
}

export interface StreamOptions {
  readonly ids: RequestIds;
  readonly lastLineOnly: boolean;
  readonly limits: ItemLimits;
  /** Called with the error that ended the stream early. */
  readonly onProblem: (problem: ProblemError) => void;
}

/**
 * Runs a stream block by block. While one block is in the store, reads and prepares the next one. The block after that
 * waits until the consumer has taken the current block's event. This creates back-pressure. After a block fails, no
 * later block goes to the store. The lines before a bad line keep their answers. Never throws.
 */
export async function* streamEvents(
  input: LineInput,
  run: RunBlock,
  options: StreamOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  const totals: Record<string, number> = {};
  let done = false;
  const ended = ({ line, problem }: LineFault): StreamEvent => {
    if (!done) return { refusal: problem };
    discard(input.payload);
    options.onProblem(problem);
    return { text: JSON.stringify({ error: problem.body(options.ids), line }) };
  };
  const blocks = new BlocksAhead(lineBlocks(input, options.limits), run);
  try {
    for await (const { block, result: running } of blocks.begun()) {
      if (running) {
        let result: BatchResult;
        try {
          result = await running;
        } catch (error) {
          yield ended(atLine(block.from, toProblem(error)));
          return;
        }
        done = true;
        addTo(totals, result.counts);
        const { results, invalid } = result;
        yield options.lastLineOnly ? {} : { text: JSON.stringify({ from: block.from, results, invalid }) };
      }
      if (block.fault) {
        yield ended(block.fault);
        return;
      }
    }
    // An empty stream is an empty batch, with the same refusal and the same count.
    if (!done) {
      try {
        addTo(totals, (await run({ from: 1, items: [] }, Promise.resolve())).counts);
      } catch (error) {
        yield ended(atLine(1, toProblem(error)));
        return;
      }
    }
    yield { text: JSON.stringify({ done: true, counts: totals }) };
  } finally {
    blocks.stop();
    input.leave();
  }
}

function addTo(totals: Record<string, number>, counts: Counts): void {
  for (const [verdict, count] of Object.entries(counts)) totals[verdict] = (totals[verdict] ?? 0) + count;
}

/** The lines of an answer whose first event is known. */
export async function* answerLines(
  first: IteratorResult<StreamEvent, void>,
  rest: AsyncGenerator<StreamEvent, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  try {
    for (let event = first; !event.done; event = await rest.next()) {
      if (event.value.text !== undefined) yield `${event.value.text}\n`;
    }
  } finally {
    await rest.return();
  }
}
