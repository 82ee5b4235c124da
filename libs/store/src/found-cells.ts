import { type Geometry, pageBytes, type Positions, STAMP_BYTES } from '#bloom';
import { stampOf } from './age.js';
import { type LayerFinding, type LayerSample, MOST_SAMPLED_PAGES } from './port/index.js';

/*
 * Turns stored cells into findings and samples for `Inspection`, in both stores. It reads one cell at a time, which is
 * fast enough for a hundred items or a few hundred pages. Batches have their own loops.
 */

/** The counter in a cell that ages (0 if expired), and for how many more epochs it is live. */
export function agedCell(cell: number, stamp: number, epoch: number): { value: number; left: number } {
  const left = ((cell - stamp) & 15) - (epoch - stamp);
  return left < 0 ? { value: 0, left } : { value: cell >> 4, left };
}

/** Index of a page's cell in its segment, in cells of its width. Page stamps count as cells. */
export function cellIndex({ pageCells, cellBits }: Geometry, page: number, cell: number): number {
  if (cellBits !== 8) return page * pageCells + cell;
  return page * pageBytes({ pageCells, cellBits }) + STAMP_BYTES + cell;
}

/** The value of the cell at an index, in BITFIELD's layout. */
export function cellAt(bytes: Uint8Array, index: number, cellBits: Geometry['cellBits']): number {
  if (cellBits === 8) return bytes[index] as number;
  if (cellBits === 4) return ((bytes[index >> 1] as number) >> ((~index & 1) << 2)) & 15;
  return ((bytes[index >> 3] as number) >> (7 - (index & 7))) & 1;
}

/** The current epoch of a filter that ages. */
export interface Present {
  readonly epoch: number;
  readonly epochMs: number;
}

/**
 * The finding for item `i` in a layer. `stored` has its k cells as stored. If the filter ages, `ageing` has their
 * page's stamp. Positions refer to the layer.
 */
export function findingIn(
  geometry: Geometry,
  { hashes: k, segment, page, cell }: Positions,
  i: number,
  stored: readonly number[],
  ageing?: Present & { readonly stamp: number },
): LayerFinding {
  const at = page[i] as number;
  const found = stored.map((value) =>
    ageing ? agedCell(value, ageing.stamp, ageing.epoch) : { value, left: 0 },
  );
  const claims = found.every(({ value }) => value > 0);
  const cells = found.map(({ value }, j) => ({
    index: cellIndex(geometry, at, cell[i * k + j] as number),
    value,
  }));
  const left = Math.min(...found.map((one) => one.left));
  return {
    segment: segment[i] as number,
    page: at,
    claims,
    cells,
    ...(ageing && claims && { until: (ageing.epoch + left + 1) * ageing.epochMs }),
  };
}

/** A page of a layer. */
export interface PagePlace {
  readonly segment: number;
  readonly page: number;
}

/**
 * Random pages from each layer: a total of MOST_SAMPLED_PAGES, in equal shares. If a small layer doesn't use its share,
 * larger layers get the rest.
 */
export function drawPages(layers: readonly Geometry[], random = Math.random): PagePlace[][] {
  const pages = layers.map(({ segments, pagesPerSegment }) => segments * pagesPerSegment);
  const drawn: PagePlace[][] = layers.map(() => []);
  let room = MOST_SAMPLED_PAGES;
  // Smallest layer first, so that larger layers can use the rest of its share.
  const order = [...layers.keys()].sort((a, b) => (pages[a] as number) - (pages[b] as number));
  for (const [done, layer] of order.entries()) {
    const { pagesPerSegment } = layers[layer] as Geometry;
    const share = Math.floor(room / (layers.length - done));
    const some = drawDistinct(pages[layer] as number, share, random);
    room -= some.length;
    drawn[layer] = some.map((n) => ({ segment: Math.floor(n / pagesPerSegment), page: n % pagesPerSegment }));
  }
  return drawn;
}

/** `count` different numbers below `n`, or all if there are fewer (Floyd's algorithm). */
function drawDistinct(n: number, count: number, random: () => number): number[] {
  const drawn = new Set<number>();
  for (let last = Math.max(0, n - count); last < n; last++) {
    const one = Math.floor(random() * (last + 1));
    drawn.add(drawn.has(one) ? last : one);
  }
  return [...drawn];
}

/**
 * Counts the cells in sampled pages by value. Counts a page's bytes first, so it decodes at most 256 of them per page.
 */
export class SampleTally {
  private readonly values: Float64Array;
  private readonly bytes = new Uint32Array(256);
  private sampled = 0;

  constructor(private readonly geometry: Geometry) {
    this.values = new Float64Array(geometry.cellBits === 1 ? 2 : 16);
  }

  /** Counts the page at byte `at`. `epoch` is the current epoch if the filter ages. */
  count(segment: Uint8Array, at: number, epoch: number): void {
    const { bytes, geometry } = this;
    const { cellBits } = geometry;
    this.sampled++;
    bytes.fill(0);
    const end = at + pageBytes(geometry);
    for (let n = cellBits === 8 ? at + STAMP_BYTES : at; n < end; n++) {
      const byte = segment[n] as number;
      bytes[byte] = (bytes[byte] as number) + 1;
    }
    const stamp = cellBits === 8 ? stampOf(segment, at) : 0;
    for (const [byte, times] of bytes.entries()) {
      if (times === 0) continue;
      if (cellBits === 8) this.add(agedCell(byte, stamp, epoch).value, times);
      else
        for (let rest = 8; rest > 0; rest -= cellBits)
          this.add((byte >> (rest - cellBits)) & (2 ** cellBits - 1), times);
    }
  }

  /** Adds an empty page to the sample. */
  countEmpty(): void {
    this.sampled++;
    this.add(0, this.geometry.pageCells);
  }

  get sample(): LayerSample {
    const { segments, pagesPerSegment } = this.geometry;
    return { pages: segments * pagesPerSegment, sampledPages: this.sampled, values: [...this.values] };
  }

  private add(value: number, times: number): void {
    this.values[value] = (this.values[value] as number) + times;
  }
}
