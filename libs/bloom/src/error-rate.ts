/**
 * False-positive rates. The letters follow the literature: n items, m cells, k hashes, B cells per page, and λ =
 * n·B/m, the mean number of items per page.
 *
 * Classic, with one array for all items (Bloom 1970; Fan et al. 2000):
 *
 *   p = (1 - e^(-kn/m))^k
 *
 * Paged (a blocked filter after Putze, Sanders and Singler 2007, here with k distinct cells per item). The number of
 * items in a page is Poisson(λ), and crowded pages add more errors than sparse pages save:
 *
 *   p = Σ_j Poisson(j; λ) · c_j        c_j = P(j random k-subsets of a page cover k given cells)
 *
 * A Markov chain on the number u of given cells that are not yet covered gives c_j exactly: an item covers h of them
 * with the hypergeometric probability C(u,h)·C(B-u,k-h) / C(B,k). All terms are positive, so the sum is accurate even
 * for the smallest rates, where inclusion-exclusion would lose digits to cancellation.
 */

/** (1 - e^(-k/cellsPerItem))^k. */
export function classicErrorRate(cellsPerItem: number, k: number): number {
  return Math.pow(-Math.expm1(-k / cellsPerItem), k);
}

/** Cells per item in the best classic filter with error rate p and a whole number of hashes. */
export function classicCellsPerItem(p: number): number {
  let best = Infinity;
  const ideal = Math.max(1, Math.round(-Math.log2(p)));
  for (let k = Math.max(1, ideal - 2); k <= ideal + 2; k++) {
    best = Math.min(best, classicCellsPerItemWith(k, p));
  }
  return best;
}

/** The inverse of classicErrorRate: the m/n at which k hashes give rate p. */
function classicCellsPerItemWith(k: number, p: number): number {
  return -k / Math.log1p(-Math.pow(p, 1 / k));
}

/**
 * Poisson weights that are more than DEVIATIONS standard deviations plus MORE_ITEMS items from the mean are below
 * 1e-30.
 */
const DEVIATIONS = 12;
const MORE_ITEMS = 30;

/**
 * Limit on cached shapes, higher than the number in use: page sizes from 128 to 4,096 cells, with at most 32 hashes.
 */
const MOST_SHAPES = 200;
const shapes = new Map<string, PagedErrorRate>();

/** The error rates for one page shape: `B` cells, `k` hashes. */
export class PagedErrorRate {
  /** c_j for j = 0, 1, 2 …, extended on demand. */
  private readonly covered: number[] = [0];
  private readonly transition: Float64Array;
  private state: Float64Array;
  private next: Float64Array;

  /** The cached object for a shape. Its tables are most of the work, and few shapes are in use. */
  static of(pageCells: number, hashes: number): PagedErrorRate {
    const shape = `${pageCells}/${hashes}`;
    let rate = shapes.get(shape);
    if (rate === undefined) {
      if (shapes.size >= MOST_SHAPES) shapes.clear();
      rate = new PagedErrorRate(pageCells, hashes);
      shapes.set(shape, rate);
    }
    return rate;
  }

  private constructor(
    readonly pageCells: number,
    readonly hashes: number,
  ) {
    this.transition = coverTransition(pageCells, hashes);
    this.state = new Float64Array(hashes + 1);
    this.next = new Float64Array(hashes + 1);
    this.state[hashes] = 1;
  }

  /** The false-positive rate at a mean of `itemsPerPage` (λ) items per page. */
  at(itemsPerPage: number): number {
    if (itemsPerPage <= 0) return 0;
    if (itemsPerPage > this.pageCells * 8) return 1;
    const mean = itemsPerPage;
    const spread = DEVIATIONS * Math.sqrt(mean) + MORE_ITEMS;
    const first = Math.max(0, Math.floor(mean - spread));
    const last = Math.ceil(mean + spread);
    const covered = this.coveredUpTo(last);
    // Computes each Poisson weight from its neighbour, relative to the largest, then divides by their sum. This needs
    // no logarithms.
    const mode = Math.floor(mean);
    let weights = 1;
    let rate = covered[mode] as number;
    for (let j = mode + 1, weight = 1; j <= last; j++) {
      weight *= mean / j;
      weights += weight;
      rate += weight * (covered[j] as number);
    }
    for (let j = mode - 1, weight = 1; j >= first; j--) {
      weight *= (j + 1) / mean;
      weights += weight;
      rate += weight * (covered[j] as number);
    }
    // Rounding errors can push the quotient above 1.
    return Math.min(1, rate / weights);
  }

  /** The largest λ whose rate is at most p, by bisection to a relative precision of 1e-9. */
  loadFor(p: number): number {
    let low = 0;
    let high = this.pageCells / classicCellsPerItemWith(this.hashes, p);
    // The paged rate is above the classic rate except for the smallest pages.
    while (this.at(high) <= p) high *= 2;
    while (high - low > 1e-9 * high) {
      const middle = (low + high) / 2;
      if (this.at(middle) <= p) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Returns c_0 to c_items, and possibly more. */
  private coveredUpTo(items: number): readonly number[] {
    const k = this.hashes;
    while (this.covered.length <= items) {
      const { state, next, transition } = this;
      next.fill(0);
      for (let u = 0; u <= k; u++) {
        const mass = state[u] as number;
        if (mass === 0) continue;
        for (let h = 0; h <= u; h++) {
          next[u - h] = (next[u - h] as number) + mass * (transition[u * (k + 1) + h] as number);
        }
      }
      [this.state, this.next] = [next, state];
      this.covered.push(next[0] as number);
    }
    return this.covered;
  }
}

/** transition[u·(k+1) + h]: the probability that a random k-subset of B cells hits h of u given cells. */
function coverTransition(B: number, k: number): Float64Array {
  const table = new Float64Array((k + 1) * (k + 1));
  const all = logChoose(B, k);
  for (let u = 0; u <= k; u++) {
    for (let h = 0; h <= u; h++) {
      if (k - h > B - u) continue;
      table[u * (k + 1) + h] = Math.exp(logChoose(u, h) + logChoose(B - u, k - h) - all);
    }
  }
  return table;
}

function logChoose(n: number, r: number): number {
  let sum = 0;
  for (let i = 1; i <= r; i++) sum += Math.log((n - r + i) / i);
  return sum;
}

/**
 * The mean number of items per page, estimated from the share of non-zero cells. An item misses a cell with probability
 * 1 - k/B, so share = 1 - e^(-λk/B). Infinity if every cell is non-zero.
 */
export function itemsPerPageFromFill(share: number, pageCells: number, k: number): number {
  return share >= 1 ? Infinity : (-pageCells / k) * Math.log1p(-share);
}

/**
 * The probability that one counter reaches 15 or more when the filter holds n distinct items in m counters: the upper
 * tail of Poisson(kn/m). Fan et al. 2000, section 3, bound it by (e·ln2/16)^16 for their limit of 16.
 */
export function saturationProbability(n: number, m: number, k: number): number {
  const mean = (k * n) / m;
  let term = Math.exp(-mean);
  for (let i = 1; i <= 15; i++) term *= mean / i;
  let tail = 0;
  for (let i = 15; i < 200 && term > 0; i++) {
    tail += term;
    term *= mean / (i + 1);
  }
  return tail;
}
