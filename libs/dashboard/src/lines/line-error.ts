/** A list that cannot be read on: which of the files, from which line on, and why. */
export class LineError extends Error {
  constructor(
    readonly file: string,
    /** From 1; 0: no line of it could be read. */
    readonly line: number,
    why: string,
    options?: ErrorOptions,
  ) {
    super(`${file}${line > 0 ? `, line ${line}` : ''}: ${why}`, options);
    this.name = new.target.name;
  }
}
