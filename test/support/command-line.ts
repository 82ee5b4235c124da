import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Ended } from './service-process.js';
import { serviceProgram } from './service-program.js';

export interface CommandOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
  /** `pipe`: stdin stays open, and is the caller's. */
  readonly stdin?: 'pipe';
}

export interface RunningCommand {
  readonly child: ChildProcess;
  /** What has been written so far. */
  stdout(): string;
  stderr(): string;
  /** -1 if a signal ended it. */
  readonly ended: Promise<Ended>;
}

/** Starts `unseen` as its users do: the sources as they are, in a process of its own. */
export async function startCommand(
  args: readonly string[],
  { env, input, stdin }: CommandOptions,
): Promise<RunningCommand> {
  const program = join(await serviceProgram(), 'src', 'cli', 'unseen.js');
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // A command that reads no further closes the pipe.
  child.stdin.on('error', () => undefined);
  if (stdin === undefined) child.stdin.end(input);
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
  });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

/** Runs `unseen` to its end. */
export async function runCommand(args: readonly string[], options: CommandOptions): Promise<Ended> {
  return (await startCommand(args, options)).ended;
}
