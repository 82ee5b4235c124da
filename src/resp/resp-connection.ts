import type { Socket } from 'node:net';
import { SYSTEM_CLOCK } from '#store';
import type { InFlight } from '../admission/in-flight.js';
import { overloaded } from '../admission/refusal.js';
import type { Config } from '../config/config.js';
import { discard } from '../http/discard.js';
import { watchSocket } from '../visited-sets/waiting-leases.js';
import { CommandParser, ProtocolFault, type CommandLimits } from './command-parser.js';
import type { Dispatcher } from './dispatcher.js';
import { RespError } from './error-reply.js';
import { RunReader, type Unit } from './run-reader.js';
import type { Session } from './session.js';

/** The limits until a client has sent credentials, as in Redis. */
const STRANGER: CommandLimits = {
  maxArguments: 10,
  maxArgumentBytes: 16 * 1024,
  maxCommandBytes: 16 * 1024,
};
/** A command's arguments besides its items. */
const MOST_OPTIONS = 16;
/** How many bytes of an incomplete command don't count as bytes in flight. The kernel buffers about as much anyway. */
const FREE_BYTES = 64 * 1024;
/** Sends replies once they have this many bytes, after FLUSH_MS, or when no complete command is left. */
const FLUSH_BYTES = 16 * 1024;
const FLUSH_MS = 50;
/** An overdue command gets extra turns of the event loop: one per this many bytes of the maximum command size. */
const BYTES_PER_TURN = 16 * 1024;
const STAR = 0x2a;
/** A lease stops waiting if the client sends one of these next. */
const ENDS_WAIT = ['RESET', 'QUIT'];

export type ConnectionConfig = Pick<
  Config,
  'maxBatchItems' | 'maxItemBytes' | 'maxBodyBytes' | 'requestTimeoutMs'
>;

interface Parts {
  readonly dispatcher: Dispatcher;
  readonly inFlight: InFlight;
  readonly config: ConnectionConfig;
}

/**
 * One client. Its commands run one after another, in the order of arrival, but commands that arrive together may run as
 * one batch. While they run, the service reads at most one more piece of input.
 */
export class RespConnection {
  private readonly parser = new CommandParser(STRANGER);
  private readonly reader: RunReader;
  private readonly limits: CommandLimits;
  private working = false;
  /** Sends replies while commands run. */
  private sending: NodeJS.Timeout | undefined;
  /** Ends the wait of a lease in progress. */
  private leave: (() => void) | undefined;
  /** True once the connection reads no more input, because the client has ended its side or the service is closing. */
  private ended = false;
  /** Bytes of an incomplete command that count as bytes in flight. */
  private held = 0;
  private heldBy: string | undefined;
  /** Ends the connection if a command stays incomplete for too long. */
  private overdue: NodeJS.Timeout | undefined;
  /** When the incomplete command is overdue, and the number of commands before it. */
  private dueAt = 0;
  private dueAfter = -1;
  /** How many more turns of the event loop the overdue command gets. */
  private turnsLeft = 0;

  constructor(
    private readonly socket: Socket,
    private readonly session: Session,
    private readonly parts: Parts,
  ) {
    const { config, dispatcher } = parts;
    const { maxBatchItems, maxBodyBytes } = config;
    this.limits = {
      maxArguments: maxBatchItems + MOST_OPTIONS,
      maxArgumentBytes: maxBodyBytes,
      maxCommandBytes: maxBodyBytes,
    };
    this.reader = new RunReader(this.parser, dispatcher.commands, maxBatchItems);
    session.watch = (leave) => this.watch(leave);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('error', () => undefined);
    socket.once('end', () => {
      this.ended = true;
      if (!this.working) this.close();
    });
    socket.once('close', () => {
      this.ended = true;
      clearTimeout(this.overdue);
      this.stopSending();
      this.hold(0);
    });
  }

  /** Ends the connection once the running commands have been answered. */
  end(): void {
    this.session.ending = true;
    if (!this.working) this.close();
  }

  destroy(): void {
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    if (this.ended) return;
    // Bytes from a web page, or from a client of another protocol, must not be read as commands.
    if (this.parser.commands === 0 && this.parser.unreadBytes === 0 && chunk[0] !== STAR) {
      this.socket.destroy();
      return;
    }
    this.parser.push(chunk);
    if (this.leave) this.judgeWait();
    else if (this.working) this.socket.pause();
    else void this.work();
  }

  /** Calls `leave` when a lease must stop waiting. The returned function ends the watch. */
  private watch(leave: () => void): () => void {
    const unwatch = watchSocket(this.socket, leave);
    this.send();
    this.leave = leave;
    this.judgeWait();
    return () => {
      unwatch();
      this.leave = undefined;
      this.sendRegularly();
    };
  }

  /**
   * Keeps reading while a lease waits, to notice when the client leaves. The wait also ends if the client asks for
   * that, or sends more than FREE_BYTES.
   */
  private judgeWait(): void {
    const { parser, reader, session, socket } = this;
    if (!session.ending && parser.unreadBytes <= FREE_BYTES && !reader.nextIs(ENDS_WAIT)) {
      socket.resume();
      return;
    }
    socket.pause();
    this.leave?.();
  }

  /** Executes the commands that have arrived. */
  private async work(): Promise<void> {
    this.working = true;
    clearTimeout(this.overdue);
    const { session, socket } = this;
    this.sendRegularly();
    try {
      for (let unit = await this.next(); unit; unit = await this.next()) {
        await this.parts.dispatcher.execute(unit, session);
        if (session.write.length >= FLUSH_BYTES || socket.writableNeedDrain) await this.flush();
        if (session.ending || socket.destroyed) break;
      }
      await this.flush();
      this.watchRest();
    } catch (error) {
      this.refuse(error);
    } finally {
      this.working = false;
    }
    if (session.ending || this.ended) this.close();
    else socket.resume();
  }

  private async next(): Promise<Unit | undefined> {
    // The input limits depend on the credentials.
    if (this.session.isLockedOut) await this.session.refresh();
    this.parser.limits = this.session.isLockedOut ? STRANGER : this.limits;
    return this.reader.next();
  }

  /**
   * Sends replies from time to time while commands run. So replies of earlier commands don't wait for a slow one. The
   * timer survives short pauses, because a new one for each command would cost more than it should.
   */
  private sendRegularly(): void {
    this.sending ??= setInterval(() => {
      if (this.working && !this.leave) this.send();
      else this.stopSending();
    }, FLUSH_MS);
  }

  private stopSending(): void {
    clearInterval(this.sending);
    this.sending = undefined;
  }

  /** Sends the replies so far. */
  private send(): void {
    const { socket, session } = this;
    const text = session.write.take();
    if (text !== '' && !socket.destroyed) socket.write(text, 'latin1');
  }

  /** Sends the replies. Waits until the client has read them if it is slow. */
  private async flush(): Promise<void> {
    this.send();
    const { socket, session } = this;
    if (!socket.writableNeedDrain) return;
    const { inFlight, config } = this.parts;
    const unread = socket.writableLength;
    const caller = session.chargedTo;
    inFlight.add('answers', unread, caller);
    await new Promise<void>((resolve) => {
      let waiting = true;
      // After a pause of this process, the client may have read the replies already. The socket reports that in this
      // turn.
      const judge = (): unknown => waiting && socket.destroy();
      const late = setTimeout(() => setImmediate(judge), config.requestTimeoutMs);
      const done = (): void => {
        waiting = false;
        clearTimeout(late);
        socket.off('drain', done).off('close', done);
        resolve();
      };
      socket.once('drain', done).once('close', done);
    });
    inFlight.add('answers', -unread, caller);
  }

  /** Limits an incomplete command's time and memory. Throws OVERLOADED. */
  private watchRest(): void {
    const { parser, parts } = this;
    clearTimeout(this.overdue);
    const rest = parser.unreadBytes;
    this.hold(rest > FREE_BYTES ? rest : 0);
    if (rest === 0 || this.socket.destroyed) return;
    const now = SYSTEM_CLOCK.monotonic();
    if (this.dueAfter !== parser.commands) {
      this.dueAfter = parser.commands;
      this.dueAt = now + parts.config.requestTimeoutMs;
      this.turnsLeft = Math.ceil(parser.limits.maxCommandBytes / BYTES_PER_TURN);
    }
    this.overdue = setTimeout(() => this.judge(), Math.max(0, this.dueAt - now));
  }

  /**
   * Ends the connection if its command is late. After a pause of this process, the rest of the command may still be in
   * the socket. So it first gets more turns of the event loop. A timer alone is not enough, because it may fire before
   * the socket is read.
   */
  private judge(): void {
    const { parser } = this;
    if (this.working || this.ended || parser.commands !== this.dueAfter || parser.unreadBytes === 0) return;
    // Data that arrived after this timer fired has set another one.
    clearTimeout(this.overdue);
    if (this.turnsLeft-- > 0) this.overdue = setTimeout(() => setImmediate(() => this.judge()));
    else this.socket.destroy();
  }

  private hold(bytes: number): void {
    const { inFlight } = this.parts;
    const more = bytes - this.held;
    if (more === 0) return;
    const caller = this.held > 0 ? this.heldBy : this.session.chargedTo;
    const refusal = more > 0 ? inFlight.lack('bytes', more, caller) : undefined;
    if (refusal) {
      inFlight.refuse(refusal);
      throw overloaded(refusal, inFlight.bounds);
    }
    inFlight.add('bytes', more, caller);
    this.held = bytes;
    this.heldBy = caller;
  }

  /** Answers input that can't be read, and ends the connection. */
  private refuse(error: unknown): void {
    const { session, parts } = this;
    session.ending = true;
    const isFault = error instanceof ProtocolFault;
    parts.dispatcher.refuse(
      session,
      isFault ? new RespError('ERR', `Protocol error: ${error.message}`) : error,
    );
    this.send();
  }

  private close(): void {
    const { socket } = this;
    this.ended = true;
    clearTimeout(this.overdue);
    this.hold(0);
    if (socket.destroyed) return;
    socket.end();
    // Closing at once could reset the connection before the client has read the last replies.
    discard(socket);
  }
}
