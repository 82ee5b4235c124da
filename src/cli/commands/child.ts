import { spawn, type ChildProcess } from 'node:child_process';
import type { LeasedUrl } from '#client';
import { environmentWith } from '../../config/config.js';
import { oneLine, reasonOf } from '../ending.js';

const MAX_LINE = 1_024;

/** A command of the shell that runs for one URL. What it writes goes to where the output of `unseen` goes. */
export class Child {
  private lastLine = '';
  private readonly process: ChildProcess;
  /** Resolves with what went wrong, in a line; with undefined if the exit status was 0. */
  readonly failure: Promise<string | undefined>;

  constructor(command: string, { url, attempt, payload }: LeasedUrl, errors: NodeJS.WritableStream) {
    // The URL is an argument, not a part of the command's text, so nothing in it is read by the shell.
    const child = spawn('/bin/sh', ['-c', `${command} "$@"`, 'unseen-work', url], {
      stdio: ['ignore', 'inherit', 'pipe'],
      // A group of its own: Ctrl-C on the terminal ends the leasing, not what is under way.
      detached: true,
      env: environmentWith({
        UNSEEN_ITEM: url,
        UNSEEN_ATTEMPT: String(attempt),
        UNSEEN_PAYLOAD: payload ?? '',
      }),
    });
    this.process = child;
    child.stderr.on('data', (chunk: Buffer) => {
      errors.write(chunk);
      this.remember(chunk.toString());
    });
    this.failure = new Promise((resolve) => {
      child.once('error', (error) => resolve(`cannot run: ${reasonOf(error)}`));
      // What a grandchild holds open does not keep the URL leased.
      child.once('exit', (code, signal) => setImmediate(() => resolve(this.reason(code, signal))));
    });
  }

  /** Ends the command and what it has started. */
  kill(): void {
    const { pid } = this.process;
    if (pid === undefined || this.process.exitCode !== null || this.process.signalCode !== null) return;
    try {
      process.kill(-pid, 'SIGTERM');
    } catch {
      // It has ended meanwhile.
    }
  }

  private remember(text: string): void {
    const lines = (this.lastLine + text).split('\n').filter((line) => line.trim() !== '');
    this.lastLine = (lines.at(-1) ?? '').slice(-MAX_LINE);
    if (text.endsWith('\n')) this.lastLine += '\n';
  }

  private reason(code: number | null, signal: string | null): string | undefined {
    if (code === 0) return undefined;
    const how = code === null ? `ended by ${signal}` : `exit status ${code}`;
    const said = oneLine(this.lastLine);
    return said === '' ? how : `${how}: ${said}`;
  }
}
