const bodies = new WeakSet<object>();

/**
 * Notes that every string of a parsed body is well-formed Unicode: its bytes were valid UTF-8, and no `\u` in them wrote
 * half a character. Asking every string of a batch would cost as much as all the rest of its validation.
 */
export function noteWellFormed(body: object): void {
  bodies.add(body);
}

/** False: unknown. */
export function isKnownWellFormed(body: unknown): boolean {
  return typeof body === 'object' && body !== null && bodies.has(body);
}
