import { once } from 'node:events';
import { Exit, oneLine, UsageError } from '../ending.js';

/** Writes the results. */
export class Output {
  private failure: Error | undefined;

  constructor(private readonly stream: NodeJS.WriteStream) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The reader has closed the pipe, as `head` does. This is not an error.
      if (error.code === 'EPIPE') process.exit(Exit.Done);
      this.failure = error;
    });
  }

  get isTerminal(): boolean {
    return this.stream.isTTY;
  }

  /** Resolves when the stream can take more. Throws UsageError if writing fails. */
  async write(text: string): Promise<void> {
    if (text !== '' && !this.stream.write(text)) await this.drained();
    this.check();
  }

  /** Writes a line with text from the service or a file name, made safe for a terminal. */
  async line(text: string): Promise<void> {
    await this.write(`${oneLine(text)}\n`);
  }

  async json(value: unknown): Promise<void> {
    await this.write(`${JSON.stringify(value)}\n`);
  }

  /** Resolves when everything is written. */
  async flush(): Promise<void> {
    await new Promise<void>((resolve) => this.stream.write('', () => resolve()));
    this.check();
  }

  private async drained(): Promise<void> {
    await once(this.stream, 'drain').catch((error: unknown) => {
      if (this.failure === undefined) throw error;
    });
  }

  private check(): void {
    if (this.failure) throw new UsageError(`cannot write the results: ${this.failure.message}`);
  }
}
