import type { Protocol } from './protocol.js';
import type { AttemptOf } from './attempt.js';
import type { Reply } from './http.js';

type Judgement<Op, Answers> = Pick<AttemptOf<Op, Answers>, 'outcome' | 'answers' | 'note' | 'wrong'>;

/** Errors that a fault may cause. They don't tell whether the change has taken effect. */
const PASSING: ReadonlySet<unknown> = new Set(['STORE_UNAVAILABLE', 'OVERLOADED']);

/**
 * Judges the reply to an attempt. Sets `wrong` for a reply that no fault excuses: a status other than 200 and 503, lost
 * data, an error without Retry-After, a mutation without its operation id, or malformed results.
 */
export function judge<Op, Answers>(
  protocol: Protocol<Op, Answers>,
  operation: Op,
  key: string | undefined,
  reply: Reply,
): Judgement<Op, Answers> {
  if (reply.kind !== 'answered') {
    return { outcome: reply.kind === 'refused' ? 'fail' : 'info', note: reply.note };
  }
  const { headers, text } = reply;
  const { status, body } = contents(reply);
  if (body === undefined) return { outcome: 'info', note: 'a stream without its last line' };
  const note = status < 300 ? undefined : `${status} ${String(body['code'])}`;
  const unknown = { outcome: 'info' as const, note: note ?? String(status) };
  const id = headers['idempotency-key'];
  if (protocol.mutates(operation) && (id === undefined || (key !== undefined && id !== key))) {
    return { ...unknown, wrong: `its Idempotency-Key is ${String(id)}, not ${key ?? 'one made for it'}` };
  }
  if (status === 503 && PASSING.has(body['code'])) {
    const retryAfter = headers['retry-after'];
    // A stream's headers are sent before its error is known.
    const isLate = reply.status !== status;
    return retryAfter === undefined && !isLate ? { ...unknown, wrong: 'without Retry-After' } : unknown;
  }
  const isAnswer = status === 200 || protocol.answers?.(operation, status, body['code']) === true;
  if (!isAnswer) return { ...unknown, wrong: `no fault excuses ${text.slice(0, 300)}` };
  const answers = protocol.read(operation, body, status);
  if (answers === undefined) return { ...unknown, wrong: `results make no sense: ${text.slice(0, 300)}` };
  return { outcome: 'ok', answers };
}

interface Contents {
  readonly status: number;
  /** Undefined if the stream broke off. */
  readonly body: Record<string, unknown> | undefined;
}

/** A reply's contents. A stream's lines are merged into one JSON body, and its last line may be an error. */
function contents({ status, headers, text }: Extract<Reply, { kind: 'answered' }>): Contents {
  if (headers['content-type']?.includes('ndjson') !== true) return { status, body: parsed(text) };
  const lines = text.split('\n').filter((line) => line !== '');
  const bodies = lines.map(parsed);
  const last = bodies.at(-1);
  const error = last?.['error'] as Record<string, unknown> | undefined;
  if (error) return { status: Number(error['status']), body: error };
  if (last?.['done'] !== true) return { status, body: undefined };
  return { status, body: { results: bodies.flatMap(({ results }) => (results ?? []) as unknown[]) } };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
