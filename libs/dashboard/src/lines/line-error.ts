/** A file can't be read any further: which file, from which line, and why. */
export class LineError extends Error {
  constructor(
    readonly file: string,
    /** From 1. 0 if no line could be read. */
    readonly line: number,
    why: string,
    options?: ErrorOptions,
  ) {
    super(`${file}${line > 0 ? `, line ${line}` : ''}: ${why}`, options);
    this.name = new.target.name;
  }
}
