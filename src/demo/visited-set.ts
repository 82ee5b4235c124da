import { randomUUID } from 'node:crypto';
import type { CallOptions, UnseenClient, Verb, VisitedSet as RemoteSet } from '#client';
import { DemoError } from './demo-error.js';
import { Progress, type ProgressOutput } from './progress.js';
import { linesOf, type UrlList } from './url-list.js';

/** One call at a time, because otherwise two occurrences of a URL could be processed in either order. */
const IN_ORDER = { ahead: 1 } as const;

/** A visited set with a random name in a running service. The caller must drop it. */
export class VisitedSet {
  private constructor(
    private readonly set: RemoteSet,
    private readonly output: ProgressOutput,
    private readonly signal: AbortSignal,
    /** Memory for its counters, in bytes. */
    readonly memoryBytes: number,
  ) {}

  static async create(
    client: UnseenClient,
    parameters: { capacity: number; errorRate: number },
    output: ProgressOutput,
    signal: AbortSignal,
  ): Promise<VisitedSet> {
    // Fails immediately if the service is unavailable. Other client methods retry.
    await client.ready({ signal });
    const set = client.visitedSet(`demo-${randomUUID()}`);
    // The set need not grow, because the number of URLs is known.
    const { memoryBytes } = await set.create({ ...parameters, growth: 'none' }, { signal });
    return new VisitedSet(set, output, signal, memoryBytes);
  }

  /**
   * Sends an input list's wanted lines. `take` gets each line's flags, result, and index among them. Returns lines per
   * second of wall time.
   */
  async pass(
    verb: 'discover' | 'forget' | 'check',
    list: UrlList,
    wanted: (flags: number) => boolean,
    take: (flags: number, answer: string, place: number) => void,
  ): Promise<number> {
    const lineFlags = list.lineFlags.filter(wanted);
    const progress = new Progress(this.output, verb, lineFlags.length);
    let at = 0;
    const send = this.set[verb] as Verb<string, string, CallOptions>;
    const answers = send(linesOf(list, wanted), { ...IN_ORDER, signal: this.signal });
    for await (const { results } of answers.blocks()) {
      for (const answer of results) {
        take(lineFlags[at] ?? NaN, answer, at);
        at++;
      }
      progress.add(results.length);
    }
    if (at !== lineFlags.length)
      throw new DemoError(`${verb}: the service answered ${at} of ${lineFlags.length} lines`);
    return lineFlags.length / progress.end();
  }

  /** Has its own signal, because the visited set's signal may already be aborted. */
  drop(signal: AbortSignal): Promise<void> {
    return this.set.drop({ signal });
  }
}
