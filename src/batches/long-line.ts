import { createHash } from 'node:crypto';
import type { LineFormat } from './line-format.js';

/**
 * Keeps part of a line that is too long, and skips the rest. It becomes an item that is also too long. Different lines
 * become different items, so that the service can tell a repeat from another request.
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

  skip(bytes: Buffer): void {
    this.digest.update(bytes);
    const missing = this.cutTo - this.headBytes;
    if (missing === 0) return;
    // Copies the bytes, because a slice would keep the whole chunk in memory.
    const kept = Buffer.from(bytes.subarray(0, missing));
    this.head.push(kept);
    this.headBytes += kept.length;
  }

  /** The beginning of the line, byte by byte, and a digest of the whole line, in the line's format. Call it once. */
  text(): string {
    const text = Buffer.concat(this.head).toString('latin1') + this.digest.digest('hex');
    return this.format === 'ndjson' ? JSON.stringify(text) : text;
  }
}
