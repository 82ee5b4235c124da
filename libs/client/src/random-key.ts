const BYTES = 16;

/** An Idempotency-Key that nobody else has. `randomUUID` is missing where a page does not come over HTTPS. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
