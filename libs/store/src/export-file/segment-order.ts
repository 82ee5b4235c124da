import { pageBytes, segmentBytes, type Geometry, type Layer } from '#bloom';
import { ExportFileError } from './export-file-error.js';
import type { ExportHeader } from './header.js';

/**
 * Checks the order of an export's frames: segment by segment, first its queue and hidden items, and then all its cells,
 * layer by layer.
 */
export class SegmentOrder {
  private readonly plan: readonly Pick<Layer, 'geometry'>[];
  private current = 0;
  /** The layer whose cells come next in the current segment, and how many of its segments are complete. */
  private layer = 0;
  private pieces = 0;
  /** How many bytes of the layer's current segment have arrived. */
  private filled = 0;

  constructor(private readonly header: ExportHeader) {
    this.plan = header.layers ?? [{ geometry: header.geometry }];
  }

  /** Accepts a frame of queue entries, and returns its segment. */
  queue(segment: number): number {
    if (this.header.kind !== 'visited-set') throw new ExportFileError('only a visited set has a queue');
    if (segment === this.current + 1 && this.layersWhole()) this.nextSegment();
    if (segment !== this.current || segment >= this.header.geometry.segments) throw outOfOrder(segment);
    if (this.filled > 0 || this.layer > 0 || this.pieces > 0) {
      throw new ExportFileError(`segment ${segment} has its queue after its counters`);
    }
    return segment;
  }

  /** Accepts a frame of hidden items, and returns its segment. */
  hidden(segment: number): number {
    if (this.header.maxAgeSeconds === undefined)
      throw new ExportFileError('only a visited set that ages has hidden items');
    return this.queue(segment);
  }

  /** Accepts a frame of lanes, and returns its segment. */
  hosts(segment: number): number {
    if (this.header.perHost === undefined)
      throw new ExportFileError('only a visited set with perHost has hosts');
    return this.queue(segment);
  }

  /** Accepts a frame with `length` bytes of cells of a layer's segment, and returns the layer's geometry. */
  cells(layer: number, segment: number, length: number): Geometry {
    if (layer === 0 && segment === this.current + 1 && this.layersWhole()) this.nextSegment();
    const geometry = this.plan[layer]?.geometry;
    if (!geometry || this.current >= this.header.geometry.segments) throw outOfOrder(segment);
    const each = geometry.segments / this.header.geometry.segments;
    if (layer !== this.layer || segment !== this.current * each + this.pieces) throw outOfOrder(segment);
    const bytes = segmentBytes(geometry);
    if (geometry.cellBits === 8 && length % pageBytes(geometry) !== 0)
      throw new ExportFileError(
        `segment ${segment} has a frame of ${length} bytes, which is not a whole number of pages`,
      );
    this.filled += length;
    if (this.filled > bytes) {
      throw new ExportFileError(`segment ${segment} has more than ${bytes} bytes of counters`);
    }
    if (this.filled === bytes) {
      this.filled = 0;
      this.pieces++;
      if (this.pieces === each) {
        this.pieces = 0;
        this.layer++;
      }
    }
    return geometry;
  }

  end(): void {
    const { segments } = this.header.geometry;
    if (this.layersWhole()) this.nextSegment();
    if (this.current === segments) return;
    throw new ExportFileError(`the export lacks counters for segment ${this.current} of ${segments}`);
  }

  /** True if the current segment has all cells of at least one layer, and no incomplete layer. */
  private layersWhole(): boolean {
    return this.layer > 0 && this.pieces === 0 && this.filled === 0;
  }

  private nextSegment(): void {
    this.current++;
    this.layer = 0;
  }
}

function outOfOrder(segment: number): ExportFileError {
  return new ExportFileError(`segment ${segment} is out of order, or not in the filter`);
}
