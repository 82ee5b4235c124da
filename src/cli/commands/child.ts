import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeasedUrl } from '#client';
import { environmentWith } from '../../config/config.js';
import { oneLine, reasonOf } from '../ending.js';

const MAX_LINE = 1_024;
/** EX_TEMPFAIL from sysexits.h: the command asks for a retry. */
const TRY_LATER = 75;
/** How long a command may take to end after SIGTERM. */
const GRACE_MS = 2_000;
const LOOK_MS = 20;

/** Why a command failed, in one line. */
export interface Failure {
  readonly reason: string;
  /** How long the command wants to wait before a retry. */
  readonly retryAfterSeconds: number | undefined;
}

/** A shell command that runs for one URL. It writes to the stdout and stderr of `unseen`. */
export class Child {
  private lastLine = '';
  private readonly process: ChildProcess;
  /** Set once `kill` was called. */
  private ending: Promise<void> | undefined;
  /** Resolves with undefined if the exit status was 0. */
  readonly failure: Promise<Failure | undefined>;

  constructor(command: string, { url, attempt, payload }: LeasedUrl, errors: NodeJS.WritableStream) {
    // Pass the URL as an argument, so that the shell doesn't interpret it.
    const child: ChildProcess = spawn('/bin/sh', ['-c', `${command} "$@"`, 'unseen-work', url], {
      stdio: ['ignore', 'inherit', 'pipe'],
      // In its own process group, so Ctrl-C in the terminal stops the leasing, but not the commands in progress.
      detached: true,
      env: environmentWith({
        UNSEEN_ITEM: url,
        UNSEEN_ATTEMPT: String(attempt),
        UNSEEN_PAYLOAD: payload ?? '',
      }),
    });
    this.process = child;
    // If no file descriptor is free, `stderr` is missing, and the error arrives as an event.
    child.stderr?.on('data', (chunk: Buffer) => {
      errors.write(chunk);
      this.remember(chunk.toString());
    });
    this.failure = new Promise((resolve) => {
      child.once('error', (error) =>
        resolve({ reason: `cannot run: ${reasonOf(error)}`, retryAfterSeconds: undefined }),
      );
      // Not `close`: a grandchild may keep stderr open, and the URL would stay leased.
      child.once('exit', (code, signal) =>
        setImmediate(() => resolve(Promise.resolve(this.ending).then(() => this.failureOf(code, signal)))),
      );
    });
  }

  /** Ends the command and its child processes, by force after GRACE_MS. */
  kill(): void {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.signal('SIGTERM');
    this.ending ??= this.untilGone();
  }

  /**
   * Waits for the whole group, because the shell may end before its children. No worker may lease the URL while its
   * command still runs.
   */
  private async untilGone(): Promise<void> {
    const end = performance.now() + GRACE_MS;
    while (performance.now() < end) {
      if (!this.signal(0)) return;
      await sleep(LOOK_MS);
    }
    this.signal('SIGKILL');
  }

  /** Signals the command's group. Returns false if the group has no process left. */
  private signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.process;
    try {
      return pid !== undefined && process.kill(-pid, signal);
    } catch {
      return false;
    }
  }

  private remember(text: string): void {
    const lines = (this.lastLine + text).split('\n').filter((line) => line.trim() !== '');
    this.lastLine = (lines.at(-1) ?? '').slice(-MAX_LINE);
    if (text.endsWith('\n')) this.lastLine += '\n';
  }

  private failureOf(code: number | null, signal: string | null): Failure | undefined {
    if (code === 0) return undefined;
    const how = code === null ? `ended by ${signal}` : `exit status ${code}`;
    const said = oneLine(this.lastLine);
    const asked = code === TRY_LATER ? /^retry-after: *(\d{1,9})$/i.exec(said)?.[1] : undefined;
    return {
      reason: said === '' ? how : `${how}: ${said}`,
      retryAfterSeconds: asked === undefined ? undefined : Number(asked),
    };
  }
}
