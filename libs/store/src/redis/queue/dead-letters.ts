import { deadlineIn } from '../../clock.js';
import { decodeEntryId, encodeEntryId, hashPrefixOf } from '../../entry-id.js';
import type { DeadLetter, DeadLetterPage } from '../../port/index.js';
import type { RedisFilter } from '../layout/filter.js';
import { deadLetters } from './queue-reader.js';
import type { Segments } from '../segments/segments.js';
import { deadLettersScript } from '../scripts/dead-letters.js';

/** Maximum number of dead letters that one script reads. */
const PER_SCRIPT = 100;

const NEWLINE = 10;

/** A page of dead letters, segment by segment. `after` is the id of the last one on the previous page. */
export async function readDeadLetters(
  segments: Segments,
  filter: RedisFilter,
  limit: number,
  after: string | undefined,
  timeoutMs: number,
): Promise<DeadLetterPage> {
  const deadline = deadlineIn(timeoutMs);
  const entries: DeadLetter[] = [];
  const from = after === undefined ? undefined : decodeEntryId(filter.generation, after);
  let { segment, number } = from ?? { segment: 0, number: 0 };
  while (segment < filter.spread) {
    const wanted = Math.min(PER_SCRIPT, limit - entries.length);
    if (wanted === 0) {
      const next = entries.at(-1)?.id;
      return next === undefined ? { entries } : { entries, next };
    }
    const { answers } = await segments.readQueue(
      deadLettersScript,
      filter,
      segment,
      [number, wanted],
      deadline,
    );
    const end = answers.indexOf(NEWLINE);
    for (const letter of deadLetters(answers.subarray(end + 1), filter.perHost !== undefined)) {
      const { hash, payload, attempt } = letter.entry;
      const hashPrefix = hashPrefixOf(hash, filter.geometry);
      const id = encodeEntryId(filter.generation, {
        of: 'dead-letter',
        segment,
        number: letter.number,
        index: 0,
        hashPrefix,
      });
      entries.push({ id, payload: (payload as Buffer).toString(), attempt, reason: letter.reason });
    }
    number = Number(answers.toString('latin1', 0, end));
    if (number === 0) segment++;
  }
  return { entries };
}
