import { ExportFileError } from './export-file-error.js';

/** Reads runs of known lengths from a stream of chunks. Holds at most one run and one chunk in memory. */
export class ByteReader {
  /** Bytes taken so far. */
  position = 0;
  private readonly chunks: AsyncIterator<Uint8Array, unknown>;
  private chunk: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.chunks = source[Symbol.asyncIterator]();
  }

  /**
   * The next `length` bytes. Throws ExportFileError if the stream ends first. Allocates memory only as bytes arrive.
   */
  async take(length: number): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for (let missing = length; missing > 0;) {
      if (this.chunk.length === 0 && !(await this.next())) {
        throw new ExportFileError(
          `the export is truncated: it ends after ${this.position + length - missing} bytes`,
        );
      }
      const piece = this.chunk.subarray(0, missing);
      this.chunk = this.chunk.subarray(piece.length);
      missing -= piece.length;
      pieces.push(piece);
    }
    this.position += length;
    return Buffer.concat(pieces, length);
  }

  /** True if the stream has ended. */
  async atEnd(): Promise<boolean> {
    return this.chunk.length === 0 && !(await this.next());
  }

  /** Reads and discards the rest of the stream. */
  async drain(): Promise<void> {
    this.chunk = new Uint8Array(0);
    while (await this.next()) this.chunk = new Uint8Array(0);
  }

  /** Releases the stream. */
  async close(): Promise<void> {
    await this.chunks.return?.();
  }

  private async next(): Promise<boolean> {
    do {
      const next = await this.chunks.next();
      if (next.done) return false;
      this.chunk = next.value;
    } while (this.chunk.length === 0);
    return true;
  }
}
