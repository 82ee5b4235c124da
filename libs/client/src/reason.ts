/** What a reason may take in UTF-8. */
const MOST_BYTES = 256;

/** Why something failed, as a reason of a release: never empty, never too long, whatever was thrown. */
export function reasonOf(thrown: unknown): string {
  return cut(textOf(thrown).toWellFormed().trim()) || 'the handler failed';
}

/** Getters and toString may throw, and proxies anything. */
function textOf(thrown: unknown): string {
  try {
    const { name, message } = thrown as { name?: unknown; message?: unknown };
    if (typeof message === 'string' && message !== '')
      return typeof name === 'string' && name !== 'Error' ? `${name}: ${message}` : message;
  } catch {
    // null and undefined have no members.
  }
  try {
    return String(thrown);
  } catch {
    return '';
  }
}

/** The longest beginning that fits, of whole characters. */
function cut(text: string): string {
  const bytes = new TextEncoder().encode(text.slice(0, MOST_BYTES));
  if (bytes.length <= MOST_BYTES) return text.slice(0, MOST_BYTES).toWellFormed();
  // As a part of a stream, so that a character that was cut is left out.
  return new TextDecoder().decode(bytes.subarray(0, MOST_BYTES), { stream: true });
}
