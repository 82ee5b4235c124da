import { createHash } from 'node:crypto';
import type { LineFormat } from './line-format.js';

/**
 * What is kept of a line that is longer than a line may be, while the rest of it is skipped. It stands for an item that is
 * too long as well. The item differs if the line does, so that a repeat can be told from another request.
 */
export class LongLine {
  private readonly digest = createHash('sha256');
  private readonly head: Buffer[] = [];
  private headBytes = 0;

  /** Keeps the first `cutTo` bytes. */
  constructor(
    private readonly format: LineFormat,
    private readonly cutTo: number,
  ) {}

  /** Takes the next bytes of the line. */
  skip(bytes: Buffer): void {
    this.digest.update(bytes);
    const missing = this.cutTo - this.headBytes;
    if (missing === 0) return;
    // A copy: a part of a chunk would keep all of it in memory.
    const kept = Buffer.from(bytes.subarray(0, missing));
    this.head.push(kept);
    this.headBytes += kept.length;
  }

  /** The beginning of the line, byte by byte, and a digest of all of it: a line of the format. Call it once. */
  text(): string {
    const text = Buffer.concat(this.head).toString('latin1') + this.digest.digest('hex');
    return this.format === 'ndjson' ? JSON.stringify(text) : text;
  }
}
