import { once } from 'node:events';
import { Exit, oneLine, UsageError } from '../ending.js';

/** Where results go. */
export class Output {
  private failure: Error | undefined;

  constructor(private readonly stream: NodeJS.WriteStream) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // Whoever reads has enough, as `head` has: that is no fault of anyone.
      if (error.code === 'EPIPE') process.exit(Exit.Done);
      this.failure = error;
    });
  }

  get isTerminal(): boolean {
    return this.stream.isTTY;
  }

  /** Resolves when more may be written. Throws UsageError if that cannot be. */
  async write(text: string): Promise<void> {
    if (text !== '' && !this.stream.write(text)) await this.drained();
    this.check();
  }

  /** A line of plain text from the service or of a file name, safe on a terminal. */
  async line(text: string): Promise<void> {
    await this.write(`${oneLine(text)}\n`);
  }

  async json(value: unknown): Promise<void> {
    await this.write(`${JSON.stringify(value)}\n`);
  }

  /** Resolves when all is written. */
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
