/** Maximum size of a reason in UTF-8. */
const MOST_BYTES = 256;

/** A release's reason for a thrown value. Never empty and never too long. */
export function reasonOf(thrown: unknown): string {
  return cut(textOf(thrown).toWellFormed().trim()) || 'the handler failed';
}

/** Getters, toString, and proxies may throw. */
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

/** The longest prefix of whole characters that fits. */
function cut(text: string): string {
  const bytes = new TextEncoder().encode(text.slice(0, MOST_BYTES));
  if (bytes.length <= MOST_BYTES) return text.slice(0, MOST_BYTES).toWellFormed();
  // Decodes as part of a stream, which drops a character that was cut in two.
  return new TextDecoder().decode(bytes.subarray(0, MOST_BYTES), { stream: true });
}
