const BYTES = 16;

/** A random Idempotency-Key. Doesn't use `randomUUID`, which browsers lack on pages without HTTPS. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
