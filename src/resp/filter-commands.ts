import { Injectable } from '@nestjs/common';
import { capacityOf } from '#store';
import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { CreateFilterDto, type Growth } from '../filters/filter.dto.js';
import { FilterLifecycle, type Described } from '../filters/filter-lifecycle.js';
import { filterView } from '../filters/filter.view.js';
import { FiltersService } from '../filters/filters.service.js';
import type { Principal } from '../request/principal.js';
import { validateShallow } from '../validation/shallow.pipe.js';
import {
  keyTypeOf,
  type CommandArguments,
  type DataCall,
  type DataCommand,
  type KeyType,
} from './command.js';
import { RespError, syntaxError } from './error-reply.js';
import { Operations } from './operations.js';
import { numberIn } from './options.js';
import { ok, type Reply, type ReplyWriter } from './reply-writer.js';
import { assertName, Targets } from './targets.js';

/** Error rate for filters created by CF.RESERVE, because the command has no argument for it. */
export const CF_ERROR_RATE = 0.01;

/** Maximum number of names in EXISTS, DEL and UNLINK. */
const MOST_NAMES = 100;

/** A filter's figures. A value is null if it doesn't apply to the filter. */
type Figures = readonly (readonly [label: string, value: number | null])[];

/** The commands on whole filters. They do the same as the routes for filters. */
@Injectable()
export class FilterCommands {
  /** The commands, by name. */
  readonly table: Readonly<Record<string, DataCommand>> = {
    'CF.RESERVE': {
      ...admin(2, (args) => [args.text(0)]),
      run: (args, call) => {
        const growth = growthIn(args, 2);
        return this.reserve({ ...sizeIn(args, 1), type: 'counting', semantics: 'multiset', growth }, call);
      },
    },
    'BF.RESERVE': {
      ...admin(3, (args) => [args.text(0)]),
      run: (args, call) => {
        const errorRate = numberIn(args, 1);
        const growth = growthIn(args, 3);
        return this.reserve({ ...sizeIn(args, 2), errorRate, type: 'standard', growth }, call);
      },
    },
    'CF.INFO': { ...read(1, 1), run: (args, { caller }) => this.cuckooInfo(args, caller) },
    'BF.INFO': { ...read(1, 2), run: (args, { caller }) => this.bloomInfo(args, caller) },
    'BF.CARD': { ...read(1, 1), run: (args, { caller }) => this.card(args.text(0), 'MBbloom--', caller) },
    SCARD: { ...read(1, 1), run: (args, { caller }) => this.card(args.text(0), 'set', caller) },
    EXISTS: { ...read(1), run: (args, { caller }) => this.exists(namesIn(args), caller) },
    TYPE: { ...read(1, 1), run: (args, { caller }) => this.type(args.text(0), caller) },
    DEL: { ...admin(1, namesIn), run: (args, call) => this.drop(namesIn(args), call) },
    UNLINK: { ...admin(1, namesIn), run: (args, call) => this.drop(namesIn(args), call) },
  };

  constructor(
    private readonly targets: Targets,
    private readonly filters: FiltersService,
    private readonly lifecycle: FilterLifecycle,
    private readonly operations: Operations,
  ) {}

  private async reserve(asked: object, { caller, command }: DataCall): Promise<Reply> {
    const dto = validateShallow(CreateFilterDto, asked);
    const operation = this.operations.of(command, dto.name, caller);
    const { created } = await this.filters.create(dto, operation, caller);
    if (!created)
      throw new ProblemError('FILTER_EXISTS', `"${dto.name}" exists already, with these parameters`);
    return ok;
  }

  private async card(name: string, type: KeyType, caller: Principal): Promise<Reply> {
    const { stats } = await this.described(name, type, caller);
    return (write) => write.integer(stats.items);
  }

  private async cuckooInfo(args: CommandArguments, caller: Principal): Promise<Reply> {
    const { filter, stats } = await this.described(args.text(0), 'MBbloomCF', caller);
    const { pageCells, segments, pagesPerSegment } = filter.geometry;
    const { memoryBytes } = filterView(filter, stats);
    return mapOf([
      ['Size', memoryBytes],
      ['Number of buckets', segments * pagesPerSegment],
      ['Number of filters', stats.layers.length],
      ['Number of items inserted', stats.added + stats.duplicate - stats.removed],
      ['Number of items deleted', stats.removed],
      ['Bucket size', pageCells],
      ['Expansion rate', filter.layers === undefined ? 0 : EXPANSION],
      ['Max iterations', 0],
    ]);
  }

  private async bloomInfo(args: CommandArguments, caller: Principal): Promise<Reply> {
    const described = await this.described(args.text(0), 'MBbloom--', caller);
    const { filter, stats } = described;
    const figures = [
      ['Capacity', capacityOf(filter, stats)],
      ['Size', filterView(filter, stats).memoryBytes],
      ['Number of filters', stats.layers.length],
      ['Number of items inserted', stats.items],
      ['Expansion rate', filter.layers === undefined ? null : EXPANSION],
    ] as const satisfies Figures;
    if (args.count === 1) return mapOf(figures);
    const place = FIGURES.indexOf(args.word(1));
    const figure = figures[place];
    if (figure === undefined) {
      throw syntaxError(`${show(args.text(1))} is none of ${FIGURES.join(', ')}`);
    }
    return (write) => {
      write.array(1);
      writeFigure(write, figure[1]);
    };
  }

  private async exists(names: readonly string[], caller: Principal): Promise<Reply> {
    let count = 0;
    for (const name of names) if (await this.targets.find(name, caller)) count++;
    return (write) => write.integer(count);
  }

  private async type(name: string, caller: Principal): Promise<Reply> {
    const filter = await this.targets.find(name, caller);
    return (write) => write.simple(filter ? keyTypeOf(filter) : 'none');
  }

  /** Deletes filters and visited sets. Unknown names don't count. */
  private async drop(names: readonly string[], { caller, command }: DataCall): Promise<Reply> {
    let count = 0;
    names.forEach(assertName);
    for (const name of names) {
      const filter = await this.targets.find(name, caller);
      if (filter === undefined) continue;
      try {
        await this.lifecycle.drop(name, filter.kind, this.operations.of(command, name, caller));
        count++;
      } catch (error) {
        // Another caller has already dropped it.
        if (!(error instanceof ProblemError && error.httpStatus === 404)) throw error;
      }
    }
    return (write) => write.integer(count);
  }

  private async described(name: string, type: KeyType, caller: Principal): Promise<Described> {
    const { kind } = await this.targets.open(name, type, caller);
    return this.lifecycle.get(name, kind);
  }
}

/** Clients expect a whole number. A new layer is in fact 2.7 times as large as the last one. */
const EXPANSION = 3;

/** The names of BF.INFO's figures, in reply order. */
const FIGURES = ['CAPACITY', 'SIZE', 'FILTERS', 'ITEMS', 'EXPANSION'];

function read(least: number, most = Infinity) {
  return { kind: 'data', access: 'read', least, most } as const;
}

function admin(least: number, targets: (args: CommandArguments) => string[]) {
  return { kind: 'data', access: 'admin', least, targets } as const;
}

function mapOf(figures: Figures): Reply {
  return (write) => {
    write.map(figures.length);
    for (const [label, value] of figures) {
      write.bulk(label);
      writeFigure(write, value);
    }
  };
}

function writeFigure(write: ReplyWriter, value: number | null): void {
  if (value === null) write.null();
  else write.integer(value);
}

/** The names in a command's arguments. Each costs as much as a separate command. */
function namesIn(args: CommandArguments): string[] {
  if (args.count <= MOST_NAMES) return args.all();
  throw new RespError('ERR', `a command may list at most ${MOST_NAMES} names, not ${args.count}`);
}

function sizeIn(args: CommandArguments, capacityAt: number) {
  return { name: args.text(0), capacity: numberIn(args, capacityAt), errorRate: CF_ERROR_RATE };
}

/**
 * Whether the filter grows, from the options at `from`. Bucket and layer sizes are hints for RedisBloom's own tables.
 * They are checked, but have no effect.
 */
function growthIn(args: CommandArguments, from: number): Growth {
  const given = new Map<string, number>();
  for (let i = from; i < args.count; i++) {
    const option = args.word(i);
    if (option === 'NONSCALING') {
      given.set(option, 1);
      continue;
    }
    if (!['EXPANSION', 'BUCKETSIZE', 'MAXITERATIONS'].includes(option)) {
      throw syntaxError(`${show(args.text(i))} is not an option of this command`);
    }
    i++;
    const value = i < args.count ? numberIn(args, i) : NaN;
    if (!Number.isInteger(value)) throw syntaxError(`${option} needs a whole number`);
    given.set(option, value);
  }
  const expansion = given.get('EXPANSION');
  if (!given.has('NONSCALING')) return expansion === 0 ? 'none' : 'auto';
  if (expansion === undefined) return 'none';
  throw syntaxError('a filter with NONSCALING cannot have an EXPANSION');
}
