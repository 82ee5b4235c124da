import { Inject, Injectable } from '@nestjs/common';
import { SYSTEM_CLOCK } from '#store';
import type { ProblemError } from '../errors/problem.js';
import { ProblemReporter } from '../http/problem-reporter.js';
import { toProblem } from '../http/to-problem.js';
import type { Trace } from '../tracing/trace.js';
import { Tracing } from '../tracing/tracing.js';
import type { Command, ItemResult } from './command.js';
import { CONNECTION_COMMANDS } from './connection-commands.js';
import { RespError, writeProblem } from './error-reply.js';
import { FilterCommands } from './filter-commands.js';
import { Gate } from './gate.js';
import { ITEM_COMMANDS } from './item-commands.js';
import { ItemRunner } from './item-runner.js';
import { QueueCommands } from './queue-commands.js';
import { RespMetrics } from './resp-metrics.js';
import type { ItemRun, SingleCommand, Unit } from './run-reader.js';
import type { Session } from './session.js';

/** Executes units of commands, and writes a reply for each command. */
@Injectable()
export class Dispatcher {
  readonly commands: ReadonlyMap<string, Command>;

  constructor(
    private readonly gate: Gate,
    private readonly runner: ItemRunner,
    private readonly reporter: ProblemReporter,
    private readonly metrics: RespMetrics,
    filterCommands: FilterCommands,
    queueCommands: QueueCommands,
    @Inject(Tracing) private readonly tracing: Tracing | null,
  ) {
    this.commands = new Map(
      Object.entries<Command>({
        ...CONNECTION_COMMANDS,
        ...ITEM_COMMANDS,
        ...filterCommands.table,
        ...queueCommands.table,
      }),
    );
  }

  /** Writes the replies to `session.write`. Never rejects. */
  async execute(unit: Unit, session: Session): Promise<void> {
    const begin = SYSTEM_CLOCK.monotonic();
    const trace = this.traceOf(unit, begin);
    session.trace = trace;
    await this.gate.turn(session, bytesOf(unit));
    if (trace) {
      trace.admitted();
      await trace.run(() => this.runUnit(unit, session));
      session.trace = undefined;
      const attributes = { 'unseen.command': unit.commandName, 'unseen.commands': commandsOf(unit) };
      trace.end({ 'network.protocol.name': 'resp', ...attributes });
    } else await this.runUnit(unit, session);
    this.metrics.time(this.known(unit.commandName), (SYSTEM_CLOCK.monotonic() - begin) / 1_000);
  }

  private async runUnit(unit: Unit, session: Session): Promise<void> {
    try {
      assertOutside(session, unit.commandName);
      if (unit.kind === 'items') await this.runItems(unit, session);
      else if (unit.kind === 'single') await this.runOne(unit, session);
      // Report missing credentials first, so that strangers learn nothing about commands.
      else if (session.isLockedOut) await session.caller(unit.commandName);
      if (unit.kind === 'refused') throw unit.problem;
    } catch (error) {
      this.fail(unit.commandName, session, toProblem(error), commandsOf(unit));
    }
  }

  /** Begins the trace of commands on data. They share one, as they share one call on the store. */
  private traceOf(unit: Unit, begin: number): Trace | undefined {
    if (this.tracing === null || unit.kind === 'refused' || unit.command.kind === 'connection')
      return undefined;
    return this.tracing.begin(`RESP ${unit.commandName}`, begin);
  }

  /** Writes an error and ends the connection. */
  refuse(session: Session, error: unknown): void {
    this.fail('unknown', session, toProblem(error), 1);
  }

  private async runOne(unit: SingleCommand, session: Session): Promise<void> {
    const { command, commandName, args } = unit;
    const { write } = session;
    if (command.kind === 'connection') {
      if (!command.public) await session.caller(commandName);
      (await command.run(args, session))(write);
    } else {
      const { access, run, targets } = command;
      const entry = { access, commands: 1, targets: targets?.(args) ?? [] };
      const { result, refusal } = await this.gate.pass(
        { ...entry, session, commandName },
        (caller, _, permit) =>
          run(args, { caller, command: commandName, client: { permit, watch: session.watch } }),
      );
      if (result === undefined) throw refusal as ProblemError;
      result(write);
    }
    this.metrics.count(commandName, 'ok');
  }

  private async runItems(run: ItemRun, session: Session): Promise<void> {
    const { command, commandName, begins } = run;
    const commands = begins.length - 1;
    const access = command.verb === 'check' || command.verb === 'count' ? 'read' : 'write';
    const entry = { session, commandName, access, commands, targets: [] } as const;
    const {
      result = [],
      within,
      refusal,
    } = await this.gate.pass(entry, (caller, calls) => this.runner.run(run, calls, caller));
    this.answer(run, within, result, session);
    if (refusal) this.fail(commandName, session, refusal, commands - within);
  }

  private answer(
    { command, commandName, begins }: ItemRun,
    calls: number,
    all: readonly ItemResult[],
    session: Session,
  ): void {
    const { write } = session;
    let failed = 0;
    let last: ProblemError | undefined;
    for (let call = 0; call < calls; call++) {
      const from = begins[call] as number;
      const problem = all[from];
      if (problem instanceof Error) {
        const found = toProblem(problem);
        if (!(command.each && found.code === 'FILTER_FULL')) {
          failed++;
          writeProblem(write, found);
          this.metrics.count(commandName, found.code);
          if (found !== last) this.report(found, session);
          last = found;
          continue;
        }
      }
      command.answer(write, { all, from, to: begins[call + 1] as number });
    }
    if (calls > failed) this.metrics.count(commandName, 'ok', calls - failed);
  }

  private fail(commandName: string, session: Session, problem: ProblemError, commands: number): void {
    for (let i = 0; i < commands; i++) writeProblem(session.write, problem);
    this.metrics.count(this.known(commandName), problem.code, commands);
    this.report(problem, session);
  }

  private report(problem: ProblemError, session: Session): void {
    session.trace?.fail(problem);
    this.reporter.report(problem, session.newIds());
  }

  /** The command's name in metrics. */
  private known(commandName: string): string {
    return this.commands.has(commandName) ? commandName : 'unknown';
  }
}

const ENDS_TRANSACTION: readonly string[] = ['EXEC', 'DISCARD', 'RESET', 'QUIT'];

/**
 * Refuses a transaction's commands. Clients send them after MULTI without waiting for its reply, and assume that they
 * didn't run if EXEC fails.
 */
function assertOutside(session: Session, commandName: string): void {
  const { inTransaction } = session;
  if (commandName === 'MULTI') session.inTransaction = true;
  if (!inTransaction) return;
  if (!ENDS_TRANSACTION.includes(commandName)) {
    throw new RespError('ERR', 'not executed, because MULTI is not supported; send DISCARD to go on');
  }
  session.inTransaction = false;
  if (commandName === 'EXEC')
    throw new RespError('EXECABORT', 'MULTI is not supported: nothing was executed');
}

const commandsOf = (unit: Unit): number => (unit.kind === 'items' ? unit.begins.length - 1 : 1);

/** Size of a unit's arguments in bytes. */
function bytesOf(unit: Unit): number {
  if (unit.kind === 'items') return (unit.span.at(-1) as number) - (unit.span[0] as number);
  return unit.kind === 'single' ? unit.args.length : 0;
}
