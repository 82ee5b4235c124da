import { randomUUID } from 'node:crypto';
import { DemoError } from './demo-error.js';
import { Progress, type ProgressOutput } from './progress.js';
import type { ServiceClient } from './service-client.js';
import { textOf, type UrlList } from './url-list.js';

/** A visited set with a random name in a running service. The caller must drop it. */
export class VisitedSet {
  private constructor(
    private readonly client: ServiceClient,
    private readonly path: string,
    private readonly output: ProgressOutput,
    /** Memory of its counters. */
    readonly memoryBytes: number,
  ) {}

  static async create(
    client: ServiceClient,
    parameters: { capacity: number; errorRate: number },
    output: ProgressOutput,
  ): Promise<VisitedSet> {
    const name = `demo-${randomUUID()}`;
    // The number of URLs is known.
    const made = await client.call('POST', '/v1/visited-sets', { name, ...parameters, growth: 'none' });
    const { memoryBytes } = (made ?? {}) as { memoryBytes?: unknown };
    if (typeof memoryBytes !== 'number') throw new DemoError('no Unseen service answers there');
    return new VisitedSet(client, `/v1/visited-sets/${name}`, output, memoryBytes);
  }

  /**
   * Streams the wanted lines of a list. `take` gets the mark and the answer of each, and its place among them. Returns
   * lines per second of wall time.
   */
  async pass(
    verb: 'discover' | 'forget' | 'check',
    list: UrlList,
    wanted: (mark: number) => boolean,
    take: (mark: number, answer: string, place: number) => void,
  ): Promise<number> {
    const marks = list.marks.filter(wanted);
    const progress = new Progress(this.output, verb, marks.length);
    let at = 0;
    for await (const { results } of this.client.stream(`${this.path}/urls/${verb}`, textOf(list, wanted))) {
      if (!results) continue;
      for (const answer of results) {
        take(marks[at] ?? NaN, answer, at);
        at++;
      }
      progress.add(results.length);
    }
    if (at !== marks.length)
      throw new DemoError(`${verb}: ${marks.length} lines were sent, ${at} were answered`);
    return marks.length / progress.end();
  }

  /** Uses a client of its own, because that of the visited set may have been interrupted. */
  async drop(client: ServiceClient): Promise<void> {
    await client.call('DELETE', this.path);
  }
}
