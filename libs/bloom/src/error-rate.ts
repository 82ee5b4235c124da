/**
 * False-positive rates. Letters as in the literature: n items, m cells, k hashes, B cells a page,
 * λ = n·B/m the mean number of items a page.
 *
 * Classic (Bloom 1970; Fan et al. 2000), one array for all items:
 *
 *   p = (1 - e^(-kn/m))^k
 *
 * Paged (a blocked filter, Putze, Sanders and Singler 2007, here with k distinct cells an item): the number of
 * items in a page is Poisson(λ), and crowded pages err more than sparse ones err less:
 *
 *   p = Σ_j Poisson(j; λ) · c_j        c_j = P(j random k-subsets of a page cover k given cells)
 *
 * c_j is computed exactly by a Markov chain on the number u of given cells not yet covered: an item covers h of
 * them with the hypergeometric probability C(u,h)·C(B-u,k-h) / C(B,k). All terms are positive, so the sum is
 * accurate down to the smallest rates, where inclusion and exclusion would cancel away.
 */

/** (1 - e^(-k/cellsPerItem))^k. */
export function classicErrorRate(cellsPerItem: number, k: number): number {
  return Math.pow(-Math.expm1(-k / cellsPerItem), k);
}

/** Cells per item of the best classic filter for error rate p, with a whole number of hashes. */
export function classicCellsPerItem(p: number): number {
  let best = Infinity;
  const ideal = Math.max(1, Math.round(-Math.log2(p)));
  for (let k = Math.max(1, ideal - 2); k <= ideal + 2; k++) {
    best = Math.min(best, classicCellsPerItemWith(k, p));
  }
  return best;
}

/** The inverse of classicErrorRate: m/n at which k hashes give the rate p. */
function classicCellsPerItemWith(k: number, p: number): number {
  return -k / Math.log1p(-Math.pow(p, 1 / k));
}

/** Rates of pages of one shape: `B` cells, `k` hashes. */
export class PagedErrorRate {
  /** c_j for j = 0, 1, 2 …, computed as far as asked for. */
  private readonly covered: number[] = [0];
  private readonly transition: Float64Array;
  private state: Float64Array;

  constructor(
    readonly pageCells: number,
    readonly hashes: number,
  ) {
    this.transition = coverTransition(pageCells, hashes);
    this.state = new Float64Array(hashes + 1);
    this.state[hashes] = 1;
  }

  /** False-positive rate at `itemsPerPage` = λ items a page on average. */
  at(itemsPerPage: number): number {
    if (itemsPerPage <= 0) return 0;
    if (itemsPerPage > this.pageCells * 8) return 1;
    const last = Math.ceil(itemsPerPage + 12 * Math.sqrt(itemsPerPage) + 30);
    const logMean = Math.log(itemsPerPage);
    let logWeight = -itemsPerPage;
    let rate = 0;
    let weightSum = Math.exp(logWeight);
    for (let j = 1; j <= last; j++) {
      logWeight += logMean - Math.log(j);
      const weight = Math.exp(logWeight);
      weightSum += weight;
      rate += weight * this.coveredAfter(j);
    }
    return Math.min(1, rate + Math.max(0, 1 - weightSum));
  }

  /** The largest λ whose rate is at most p, by bisection, to a relative 1e-9. */
  loadFor(p: number): number {
    let low = 0;
    let high = this.pageCells / classicCellsPerItemWith(this.hashes, p);
    // The paged rate is above the classic one, but for the smallest pages.
    while (this.at(high) <= p) high *= 2;
    while (high - low > 1e-9 * high) {
      const middle = (low + high) / 2;
      if (this.at(middle) <= p) low = middle;
      else high = middle;
    }
    return low;
  }

  private coveredAfter(items: number): number {
    const k = this.hashes;
    while (this.covered.length <= items) {
      const next = new Float64Array(k + 1);
      for (let u = 0; u <= k; u++) {
        const mass = this.state[u] as number;
        if (mass === 0) continue;
        for (let h = 0; h <= u; h++) {
          next[u - h] = (next[u - h] as number) + mass * (this.transition[u * (k + 1) + h] as number);
        }
      }
      this.state = next;
      this.covered.push(next[0] as number);
    }
    return this.covered[items] as number;
  }
}

/** transition[u·(k+1) + h]: probability that a random k-subset of B cells hits h of u given ones. */
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
 * Items a page, estimated from the share of non-zero cells: an item leaves a cell untouched with probability
 * 1 - k/B, so that share = 1 - e^(-λk/B). Infinity when every cell is non-zero.
 */
export function itemsPerPageFromFill(share: number, pageCells: number, k: number): number {
  return share >= 1 ? Infinity : (-pageCells / k) * Math.log1p(-share);
}

/**
 * Probability that one counter is at 15 or above when the filter holds n distinct items in m counters: the
 * upper tail of Poisson(kn/m) (Fan et al. 2000, section 3, who bound it by (e·ln2/16)^16 for their 16).
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
