import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Ended } from './service-process.js';
import { serviceProgram } from './service-program.js';

export interface CommandOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
  /** `pipe` keeps stdin open for the caller. */
  readonly stdin?: 'pipe';
  /** File descriptor to write to. By default, the output is in the result. */
  readonly stdout?: number;
}

/** A job's progress, which a command prints only if it takes long. */
const PROGRESS = /^\S+ \S+: [\d,]+ lines, [\d,]+\/s(?:, .* left)?\n/gm;

export interface RunningCommand {
  readonly child: ChildProcess;
  /** The output so far. */
  stdout(): string;
  stderr(): string;
  /** The exit code (-1 if a signal ended it), and the output. Leaves out progress, which depends on the machine. */
  readonly ended: Promise<Ended>;
}

/** Starts `unseen` as users do: from the current sources, in a separate process. */
export async function startCommand(
  args: readonly string[],
  { env, input, stdin, stdout: output }: CommandOptions,
): Promise<RunningCommand> {
  const program = join(await serviceProgram(), 'cli', 'unseen.js');
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', output ?? 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // A command that stops reading closes the pipe.
  child.stdin?.on('error', () => undefined);
  if (stdin === undefined) child.stdin?.end(input);
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) =>
      resolve({ code: code ?? -1, stdout, stderr: stderr.replace(PROGRESS, '') }),
    );
  });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

/** Runs `unseen` until it exits. */
export async function runCommand(args: readonly string[], options: CommandOptions): Promise<Ended> {
  return (await startCommand(args, options)).ended;
}
