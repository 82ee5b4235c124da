/** What the user of the demo is told in one line, without a stack. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}
