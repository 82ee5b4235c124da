import { segmentBytes } from '#bloom';
import { ExportFileError } from './export-file-error.js';
import type { ExportHeader } from './header.js';

/** Checks the order of an export's frames: segment by segment, first the queue of a segment and then all its cells. */
export class SegmentOrder {
  private current = 0;
  private filled = 0;
  private readonly bytes: number;

  constructor(private readonly header: ExportHeader) {
    this.bytes = segmentBytes(header.geometry);
  }

  /** Accepts a frame of queue entries, and answers its segment. */
  queue(segment: number): number {
    if (this.header.kind !== 'visited-set') throw new ExportFileError('only a visited set has a queue');
    this.expect(segment);
    if (this.filled > 0) throw new ExportFileError(`segment ${segment} has its queue behind its cells`);
    return segment;
  }

  /** Accepts a frame with `length` bytes of cells, and answers its segment. */
  cells(segment: number, length: number): number {
    this.expect(segment);
    this.filled += length;
    if (this.filled > this.bytes) {
      throw new ExportFileError(`segment ${segment} has more than ${this.bytes} bytes of cells`);
    }
    if (this.filled === this.bytes) {
      this.current++;
      this.filled = 0;
    }
    return segment;
  }

  end(): void {
    const { segments } = this.header.geometry;
    if (this.current === segments) return;
    throw new ExportFileError(`the cells of segment ${this.current} of ${segments} are not all there`);
  }

  private expect(segment: number): void {
    if (segment === this.current && segment < this.header.geometry.segments) return;
    throw new ExportFileError(`segment ${segment} is out of order, or none of the filter's`);
  }
}
