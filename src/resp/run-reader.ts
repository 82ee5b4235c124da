import { toProblem } from '../http/to-problem.js';
import { invalid, type ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import type { CommandParser, RespCommand } from './command-parser.js';
import { CommandArguments, checkArity, type Command, type ItemCommand, type UrlOptions } from './command.js';
import { RespError } from './error-reply.js';
import { REFUSED } from './refused-commands.js';

/** Consecutive calls of one command on one filter's items. They run as one batch. */
export interface ItemRun {
  readonly kind: 'items';
  readonly command: ItemCommand;
  readonly commandName: string;
  /** The filter's name, as sent. */
  readonly target: string;
  readonly options: UrlOptions | undefined;
  readonly bytes: Buffer;
  /** Item i of the run is `bytes` from `span[2i]` to `span[2i + 1]`, exclusive. */
  readonly span: number[];
  /** Call i has the items from `begins[i]` to `begins[i + 1]`, exclusive. */
  readonly begins: number[];
}

/** A command that runs alone. */
export interface SingleCommand {
  readonly kind: 'single';
  readonly command: Exclude<Command, ItemCommand>;
  readonly commandName: string;
  readonly args: CommandArguments;
}

/** A command that gets an error. */
export interface RefusedCommand {
  readonly kind: 'refused';
  readonly commandName: string;
  readonly problem: ProblemError;
}

export type Unit = ItemRun | SingleCommand | RefusedCommand;

/** No command has a longer name. */
const MOST_NAME = 32;

/** Reads a connection's commands, and joins those that can run as one batch. */
export class RunReader {
  /** The first command that could not join the last run. */
  private ahead: RespCommand | undefined;

  constructor(
    private readonly parser: CommandParser,
    private readonly commands: ReadonlyMap<string, Command>,
    private readonly maxItems: number,
  ) {}

  /** The next unit of complete commands that have arrived, if any. Throws ProtocolFault. */
  next(): Unit | undefined {
    const first = this.take();
    if (first === undefined) return undefined;
    const commandName = nameOf(first);
    try {
      const command = this.commands.get(commandName);
      if (command === undefined) throw unknown(commandName, first);
      const args = new CommandArguments(first);
      checkArity(commandName, command, args.count);
      if (command.kind !== 'items') return { kind: 'single', command, commandName, args };
      return this.join(first, command, commandName);
    } catch (error) {
      return { kind: 'refused', commandName, problem: toProblem(error) };
    }
  }

  /** True if the next complete command has one of these names. */
  nextIs(names: readonly string[]): boolean {
    this.ahead ??= this.takeMore();
    return this.ahead !== undefined && names.includes(nameOf(this.ahead));
  }

  private take(): RespCommand | undefined {
    const { ahead } = this;
    this.ahead = undefined;
    return ahead ?? this.parser.next();
  }

  /** The next command for a run. Returns undefined at a fault, to end the run. The next `take` throws the fault. */
  private takeMore(): RespCommand | undefined {
    try {
      return this.parser.next();
    } catch {
      return undefined;
    }
  }

  private join(first: RespCommand, command: ItemCommand, commandName: string): ItemRun {
    const { bytes } = first;
    const args = new CommandArguments(first);
    const target = args.text(0);
    const { firstItem, options } = command.head(args);
    const run: ItemRun = {
      kind: 'items',
      command,
      commandName,
      target,
      options,
      bytes,
      span: [],
      begins: [0],
    };
    this.add(run, first, firstItem);
    // A command with an operation key runs alone.
    while (options?.key === undefined) {
      const next = this.takeMore();
      if (next === undefined) break;
      if (!isAlike(first, next, firstItem) || !this.adds(run, next, firstItem)) {
        this.ahead = next;
        break;
      }
    }
    return run;
  }

  /** Adds a call. Returns false if the call is invalid or doesn't fit. The call then begins the next unit. */
  private adds(run: ItemRun, call: RespCommand, firstItem: number): boolean {
    const { least, most = Infinity } = run.command;
    const count = call.span.length / 2 - 1;
    if (count < least || count > most || run.span.length / 2 + count - firstItem > this.maxItems)
      return false;
    this.add(run, call, firstItem);
    return true;
  }

  /** Adds a call's items. Throws VALIDATION_FAILED for too many items. */
  private add(run: ItemRun, { span }: RespCommand, first: number): void {
    const items = span.length / 2 - 1 - first;
    if (items > this.maxItems) {
      throw invalid('#', `a command may have at most ${this.maxItems} items, not ${items}`);
    }
    for (let i = 2 * (first + 1); i < span.length; i++) run.span.push(span[i] as number);
    run.begins.push(run.span.length / 2);
  }
}

function nameOf({ bytes, span }: RespCommand): string {
  const from = span[0] as number;
  return bytes.toString('latin1', from, Math.min(span[1] as number, from + MOST_NAME + 1)).toUpperCase();
}

function unknown(name: string, command: RespCommand): ProblemError {
  const advice = REFUSED.get(name);
  if (advice !== undefined) return new RespError('ERR', `${name} is not supported: ${advice}`);
  const { bytes, span } = command;
  return new RespError('ERR', `unknown command ${show(bytes.toString('utf8', span[0], span[1]))}`);
}

/**
 * True if both commands have the same name and the same arguments before their items, spelled alike and in one buffer.
 */
function isAlike(one: RespCommand, other: RespCommand, firstItem: number): boolean {
  if (one.bytes !== other.bytes || other.span.length / 2 < firstItem + 2) return false;
  let same = 0;
  while (same <= firstItem && isSame(one, other, 2 * same)) same++;
  return same > firstItem;
}

function isSame({ bytes, span }: RespCommand, other: RespCommand, at: number): boolean {
  let i = span[at] as number;
  const end = span[at + 1] as number;
  let j = other.span[at] as number;
  if (end - i !== (other.span[at + 1] as number) - j) return false;
  for (; i < end; i++, j++) if (bytes[i] !== bytes[j]) return false;
  return true;
}
