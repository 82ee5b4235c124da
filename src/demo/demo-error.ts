/** An error that the demo shows to its user in one line, without a stack. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}
