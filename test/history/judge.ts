import type { Protocol } from './client.js';
import type { AttemptOf } from './history.js';
import type { Reply } from './http.js';

type Judgement<Op, Answers> = Pick<AttemptOf<Op, Answers>, 'outcome' | 'answers' | 'note' | 'wrong'>;

/** Errors that a fault may cause. Even with these it is unknown whether they came before or after the change. */
const PASSING: ReadonlySet<unknown> = new Set(['STORE_UNAVAILABLE', 'OVERLOADED']);

/**
 * What a reply says about an attempt. `wrong` is set if no fault excuses it: any status but 200 and 503, lost data, an
 * error without Retry-After, a mutation answered without its operation's id, or malformed results.
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
  const { status, headers, text } = reply;
  const body = parsed(text);
  const note = status === 200 ? undefined : `${status} ${String(body['code'])}`;
  const unknown = { outcome: 'info' as const, note: note ?? String(status) };
  const id = headers['idempotency-key'];
  if (protocol.mutates(operation) && (id === undefined || (key !== undefined && id !== key))) {
    return { ...unknown, wrong: `its Idempotency-Key is ${String(id)}, not ${key ?? 'one made for it'}` };
  }
  if (status === 503 && PASSING.has(body['code'])) {
    const retryAfter = headers['retry-after'];
    return retryAfter === undefined ? { ...unknown, wrong: 'without Retry-After' } : unknown;
  }
  if (status !== 200) return { ...unknown, wrong: `no fault excuses ${text.slice(0, 300)}` };
  const answers = protocol.read(operation, body);
  if (answers === undefined) return { ...unknown, wrong: `results make no sense: ${text.slice(0, 300)}` };
  return { outcome: 'ok', answers };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
