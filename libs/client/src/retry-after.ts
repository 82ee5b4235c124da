/**
 * How long a `Retry-After` header asks to wait, in whole seconds from `now` (ms since the epoch). The header is a
 * number of seconds or an HTTP date (RFC 9110, section 10.2.3). Undefined if there is no such header, or if it is
 * neither.
 */
export function parseRetryAfter(header: string | null, now = Date.now()): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text);
  // Date.parse also accepts strings that aren't HTTP dates.
  if (!/^[A-Z][a-z]+, .+ GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000));
}
