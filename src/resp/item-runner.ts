import { isUtf8 } from 'node:buffer';
import { Inject, Injectable } from '@nestjs/common';
import type { Keys } from '#bloom';
import type { Filter } from '#store';
import type { BatchResult } from '../batches/batch.js';
import { Config } from '../config/config.js';
import { invalid, ProblemError } from '../errors/problem.js';
import { showBytes } from '../errors/show-bytes.js';
import { show } from '../errors/show.js';
import { ItemsService } from '../filters/items.service.js';
import { toProblem } from '../http/to-problem.js';
import { Metrics } from '../metrics/metrics.js';
import type { Principal } from '../request/principal.js';
import { UrlsService } from '../visited-sets/urls.service.js';
import type { ItemResult } from './command.js';
import { Operations } from './operations.js';
import type { ItemRun } from './run-reader.js';
import { assertType, Targets } from './targets.js';

/** A range of a run's items. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** The verbs' names in metrics, which are the same as for the equivalent HTTP routes. */
const URL_VERBS = {
  add: 'visit',
  check: 'check-url',
  remove: 'forget',
  discover: 'discover',
  count: '',
} as const;

/** Runs a run's calls as one batch. */
@Injectable()
export class ItemRunner {
  constructor(
    @Inject(Config) private readonly config: Pick<Config, 'maxItemBytes'>,
    private readonly targets: Targets,
    private readonly items: ItemsService,
    private readonly urls: UrlsService,
    private readonly operations: Operations,
    private readonly metrics: Metrics,
  ) {}

  /**
   * The results of the first `calls` calls, one per item. If a single call fails, its first item's result is the error.
   * If an error affects the whole run, throws it before changing anything.
   */
  async run(run: ItemRun, calls: number, caller: Principal): Promise<ItemResult[]> {
    const { target, command, begins } = run;
    const { targets } = this;
    const filter = await (command.urls
      ? targets.openSet(target, caller)
      : targets.open(target, command.type, caller));
    const results = new Array<ItemResult>(begins[calls] as number);
    for (const range of this.sound(run, calls, filter, results)) {
      await this.fill(results, run, range, filter, caller);
    }
    return results;
  }

  /** The ranges of calls with valid items. Puts an error into the results of all other calls. */
  private sound(run: ItemRun, calls: number, filter: Filter, results: ItemResult[]): Range[] {
    const { bytes, span, begins } = run;
    const end = begins[calls] as number;
    const text = bytes.subarray(span[0], span[2 * end - 1]);
    const isText = isUtf8(text);
    const { maxItemBytes } = this.config;
    // The set's rules check a URL and name its fault.
    const isUrl = filter.kind === 'visited-set';
    const ranges: Range[] = [];
    let from = 0;
    for (let call = 0; call < calls; call++) {
      const begin = begins[call] as number;
      for (let item = begin; item < (begins[call + 1] as number); item++) {
        const start = span[2 * item] as number;
        const stop = span[2 * item + 1] as number;
        const length = stop - start;
        if (
          (isUrl || (length > 0 && length <= maxItemBytes)) &&
          (isText || isUtf8(bytes.subarray(start, stop)))
        )
          continue;
        results[begin] = itemFault(bytes.subarray(start, stop), maxItemBytes);
        if (begin > from) ranges.push({ from, to: begin });
        from = begins[call + 1] as number;
        break;
      }
    }
    if (end > from) ranges.push({ from, to: end });
    return ranges;
  }

  /** Fills in a range's results. If the filter has no room for the whole range, tries each call, and then each item. */
  private async fill(
    results: ItemResult[],
    run: ItemRun,
    range: Range,
    filter: Filter,
    caller: Principal,
  ): Promise<void> {
    const { from, to } = range;
    try {
      const { results: found, invalid: refused } = await this.act(run, range, filter, caller);
      for (let i = from; i < to; i++) results[i] = found[i - from] as ItemResult;
      if (refused && refused.length > 0 && !run.command.urls) this.refuse(results, run, range, refused);
    } catch (error) {
      const problem = toProblem(error);
      const parts = problem.code === 'FILTER_FULL' ? partsOf(run, range) : [];
      if (parts.length > 1) {
        for (const part of parts) await this.fill(results, run, part, filter, caller);
      } else if (parts.length === 1) {
        results[from] = problem;
      } else {
        for (const { from: begin } of callsOf(run, range)) results[begin] = problem;
      }
    }
  }

  /** Executes a range as one batch. */
  private async act(
    { command: { verb, onlyAbsent, type }, commandName, target, options, bytes, span }: ItemRun,
    { from, to }: Range,
    { kind }: Filter,
    caller: Principal,
  ): Promise<BatchResult> {
    const used = { kind, name: target, prefix: caller.prefix };
    const { operations, items, urls } = this;
    let result: BatchResult;
    if (kind === 'filter') {
      const part = from === 0 && 2 * to === span.length ? span : span.slice(2 * from, 2 * to);
      const keys: Keys = { bytes, span: new Uint32Array(part), length: to - from };
      const accept = (filter: Filter): void => assertType(filter, type);
      if (verb === 'check') result = await items.check(target, keys, operations.deadline(), accept);
      else if (verb === 'count') result = await items.count(target, keys, operations.deadline(), accept);
      else {
        const operation = operations.of(commandName, target, caller);
        if (verb === 'remove') result = await items.remove(target, keys, operation, accept);
        else result = await items.add(target, keys, operation, { onlyAbsent, accept });
      }
      this.metrics.countItems(used, verb, result.counts);
    } else {
      const batch: string[] = [];
      for (let i = from; i < to; i++) batch.push(bytes.toString('utf8', span[2 * i], span[2 * i + 1]));
      if (verb === 'check') result = await urls.check(target, batch, operations.deadline());
      else {
        const { key, body, ttlMs } = options ?? {};
        const route = `/v1/visited-sets/:name/urls/${URL_VERBS[verb]}`;
        const request = { key, route, body: { urls: batch, ...body } };
        const operation = operations.of(commandName, target, caller, request);
        if (verb === 'discover') result = await urls.discover(target, batch, operation, options);
        else if (verb === 'remove') result = await urls.forget(target, batch, operation);
        else result = await urls.visit(target, batch, operation, ttlMs);
      }
      this.metrics.countItems(used, URL_VERBS[verb], result.counts);
    }
    return result;
  }

  /** Puts an error into the results of each call with an invalid URL. */
  private refuse(
    results: ItemResult[],
    { command, bytes, span, begins }: ItemRun,
    { from }: Range,
    refused: NonNullable<BatchResult['invalid']>,
  ): void {
    let call = 0;
    for (const { index, reason } of refused) {
      const item = from + index;
      while ((begins[call + 1] as number) <= item) call++;
      const begin = begins[call] as number;
      if (results[begin] instanceof Error) continue;
      const shown = show(bytes.toString('utf8', span[2 * item], span[2 * item + 1]));
      const isAlone = command.verb === 'check' || (begins[call + 1] as number) - begin === 1;
      const others = isAlone ? '' : '; the valid URLs of this call were handled';
      results[begin] = invalid('#', `${shown} is not a URL for this set (${reason})${others}`);
    }
  }
}

/** The calls with items in a range. */
function callsOf({ begins }: ItemRun, { from, to }: Range): Range[] {
  let call = 0;
  while ((begins[call + 1] as number) <= from) call++;
  const calls: Range[] = [];
  for (; (begins[call] as number) < to; call++) {
    calls.push({ from: begins[call] as number, to: begins[call + 1] as number });
  }
  return calls;
}

/** The parts to try if a range is too large for the filter: its calls, or its only call's items. */
function partsOf(run: ItemRun, range: Range): Range[] {
  const calls = callsOf(run, range);
  if (calls.length > 1 || run.command.each === undefined) return calls;
  return Array.from({ length: range.to - range.from }, (_, i) => ({
    from: range.from + i,
    to: range.from + i + 1,
  }));
}

function itemFault(item: Buffer, maxItemBytes: number): ProblemError {
  if (item.length === 0) return invalid('#', 'an item must not be empty');
  if (item.length > maxItemBytes) {
    return invalid('#', `an item may have at most ${maxItemBytes} bytes, not ${item.length}`);
  }
  return invalid('#', `an item must be valid UTF-8, not ${showBytes(item)}`);
}
